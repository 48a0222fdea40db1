"""Refusals as too long, as each provider words them, and refusals for the rate, which are no overflow."""

import pytest

from backscroll import is_overflow, overflow_sizes

SIZED = [
    ("prompt is too long: 213412 tokens > 200000 maximum", (213_412, 200_000)),
    ("maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens", (130_512, 128_000)),
    ("maximum context length is 128,000 tokens. However, you requested 130,512 tokens", (130_512, 128_000)),
    ("The input token count (1048999) exceeds the maximum number of tokens allowed (1048575).", (1_048_999, 1_048_575)),
    ("maximum context length is 8192 tokens and your request has 9000 input tokens", (9_000, 8_192)),
    ("request (9000 tokens) exceeds the available context size (8192 tokens)", (9_000, 8_192)),
    ("maximum context length is 8192 tokens. However, you requested about 9000 tokens", (9_000, 8_192)),
    ("Prompt contains 9000 tokens, too large for model with 8192 maximum context length", (9_000, 8_192)),
    ("This model's maximum prompt length is 8192 but the request contains 9000 tokens", (9_000, 8_192)),
    ("The input (9000 tokens) is longer than the model's context length (8192 tokens)", (9_000, 8_192)),
    ("Your request exceeded model token limit: 8192 (requested: 9000)", (9_000, 8_192)),
    ("You passed 9000 input tokens and requested 500 output tokens. context length is only 8192", (9_000, 8_192)),
]
UNSIZED = [
    "Your input exceeds the context window of this model",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "request_too_large",
    "model_context_window_exceeded",
    "context_length_exceeded",
    "Input is too long for requested model.",
    "Please reduce the length of the messages or completion.",
    "exceeds the maximum allowed input length of 8,192",
    "prompt token count of 9000 exceeds the limit of 8192",
    "context window exceeds limit",
    "litellm.ContextWindowExceededError",
    "exceed_context_size_error",
    "The number of tokens is greater than the context length",
]
OTHERS = [
    "Rate limit reached: 30,000 tokens per minute exceeds your limit of tokens",
    "429 Too Many Requests",
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "Throttling error: maximum tokens exceeded for this minute",
    "invalid api key",
    "messages.3: tool_use ids were found without tool_result blocks immediately after",
    "",
]


@pytest.mark.parametrize(("text", "sizes"), SIZED)
def test_overflow_with_sizes_is_read(text, sizes):
    """The tokens that were requested and those that are allowed are told apart."""
    assert is_overflow(text)
    assert overflow_sizes(text) == sizes


@pytest.mark.parametrize("text", UNSIZED)
def test_overflow_without_sizes_is_known(text):
    """Where no figures are named, the words or the code are enough."""
    assert is_overflow(text)
    assert overflow_sizes(text) == (None, None)


@pytest.mark.parametrize("text", OTHERS)
def test_other_refusals_are_no_overflow(text):
    """A refusal for the rate, or for what is wrong in a request, calls for no shorter view."""
    assert not is_overflow(text)


class ContextWindowExceededError(Exception):
    """As LiteLLM names it."""


class APIStatusError(Exception):
    """As clients raise it, with the body beside the text."""

    def __init__(self, message: str, body: object) -> None:
        super().__init__(message)
        self.body = body


def test_overflow_is_found_in_any_form_of_error():
    """In the class of an exception, its body, a nested mapping, or the error that caused it."""
    body = {"error": {"type": "invalid_request_error", "message": SIZED[0][0]}}
    assert is_overflow(ContextWindowExceededError("no"))
    assert is_overflow(body)
    assert overflow_sizes(APIStatusError("400", body)) == SIZED[0][1]
    failed = RuntimeError("the turn failed")
    failed.__cause__ = APIStatusError("400", body)
    assert is_overflow(failed)
    assert not is_overflow(RuntimeError("the turn failed"))
    assert not is_overflow(None)
    assert not is_overflow(object())
