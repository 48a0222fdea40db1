"""Fake LLM providers that enforce the documented rules: send them any view to learn whether a provider accepts it.

- `anthropic_messages.py`: `FakeAnthropic`, the Messages API
- `openai_responses.py`: `FakeOpenAIResponses`, the Responses API
- `openai_chat.py`: `FakeOpenAIChat`, chat completions
- `gemini.py`: `FakeGemini`, `generateContent`
- `interactions.py`: `FakeInteractions`, Gemini's Interactions API
- `bedrock.py`: `FakeBedrock`, Amazon Bedrock's Converse
- `chain.py`: canonical JSON and the running hash that reasoning is bound to
- `prompt_cache.py`: what a prompt cache reads and writes
- `script.py`: what the fake model answers
- `rules.py`: what a rule is, and what several providers refuse alike
- `errors.py`: `FakeProviderError`, with status, message and body as on the wire
- `claude_models.py`, `anthropic_request.py`, `anthropic_rules.py`, `anthropic_prefix.py`, `anthropic_thinking.py`,
  `anthropic_compaction.py`, `anthropic_prompt.py`, `anthropic_server_tools.py`, `anthropic_texts.py`: the
  parts of `FakeAnthropic`
- `openai_rules.py`, `openai_contents.py`, `openai_calls.py`, `openai_reasoning.py`: the parts of `FakeOpenAIResponses`
- `gemini_rules.py`: that of `FakeGemini`
- `interactions_rules.py`: that of `FakeInteractions`
- `chat_rules.py`: that of `FakeOpenAIChat`
- `bedrock_request.py`, `bedrock_shape.py`, `bedrock_rules.py`: the parts of `FakeBedrock`
"""

from backscroll.evaluation.fake_providers.anthropic_messages import FakeAnthropic
from backscroll.evaluation.fake_providers.bedrock import FakeBedrock
from backscroll.evaluation.fake_providers.errors import FakeProviderError
from backscroll.evaluation.fake_providers.gemini import FakeGemini
from backscroll.evaluation.fake_providers.interactions import FakeInteractions
from backscroll.evaluation.fake_providers.openai_chat import FakeOpenAIChat
from backscroll.evaluation.fake_providers.openai_responses import FakeOpenAIResponses
from backscroll.evaluation.fake_providers.script import Call, Reply, Text, Thinking, reply

__all__ = [
    "Call",
    "FakeAnthropic",
    "FakeBedrock",
    "FakeGemini",
    "FakeInteractions",
    "FakeOpenAIChat",
    "FakeOpenAIResponses",
    "FakeProviderError",
    "Reply",
    "Text",
    "Thinking",
    "reply",
]
