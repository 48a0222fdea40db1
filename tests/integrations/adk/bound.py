"""A model of Gemini over the fake provider that checks signatures."""

import base64
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from backscroll.evaluation.fake_providers import FakeGemini
from tests.integrations.adk.scripted import Scripted, as_gemini


class GeminiOnFake(Scripted):
    """A model of Gemini, which signs the calls of each step and wants them back unchanged."""

    provider: Any = None
    sealed: int = 0
    """Requests with signatures."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        contents = as_gemini(llm_request.contents)
        self.requests.append(list(llm_request.contents))
        self.sealed += "thoughtSignature" in str(contents)
        answer = self.provider.generate_content(
            model=self.model,
            contents=contents,
            system_instruction=llm_request.config.system_instruction,
            tools=[tool.model_dump(by_alias=True, exclude_none=True) for tool in llm_request.config.tools],
        )
        content = answer["candidates"][0]["content"]
        for part in content["parts"]:
            if "thoughtSignature" in part:
                part["thoughtSignature"] = base64.b64decode(part["thoughtSignature"])
        usage = types.GenerateContentResponseUsageMetadata.model_validate(answer["usageMetadata"])
        yield LlmResponse(content=types.Content.model_validate(content), usage_metadata=usage)


def gemini(replies: Any, *, ids: bool) -> GeminiOnFake:
    return GeminiOnFake(model="gemini-3.8-flash", provider=FakeGemini(replies=replies, ids=ids))
