"""Fake LLM providers that enforce the documented rules: send them any view to learn whether a provider accepts it.

- `anthropic_messages.py`: `FakeAnthropic`, the Messages API
- `openai_responses.py`: `FakeOpenAIResponses`, the Responses API
- `gemini.py`: `FakeGemini`, `generateContent`
- `chain.py`: canonical JSON and the running hash that reasoning is bound to
- `prompt_cache.py`: what a prompt cache reads and writes
- `script.py`: what the fake model answers
- `errors.py`: `FakeProviderError`, with status, message and body as on the wire
- `claude_models.py`, `anthropic_request.py`, `anthropic_rules.py`, `anthropic_prefix.py`, `anthropic_thinking.py`,
  `anthropic_compaction.py`, `anthropic_prompt.py`: the parts of `FakeAnthropic`
- `openai_rules.py`, `openai_reasoning.py`: the parts of `FakeOpenAIResponses`
"""

from backscroll.evaluation.fake_providers.anthropic_messages import FakeAnthropic
from backscroll.evaluation.fake_providers.errors import FakeProviderError
from backscroll.evaluation.fake_providers.gemini import FakeGemini
from backscroll.evaluation.fake_providers.openai_responses import FakeOpenAIResponses
from backscroll.evaluation.fake_providers.script import Call, Reply, Text, Thinking, reply

__all__ = [
    "Call",
    "FakeAnthropic",
    "FakeGemini",
    "FakeOpenAIResponses",
    "FakeProviderError",
    "Reply",
    "Text",
    "Thinking",
    "reply",
]
