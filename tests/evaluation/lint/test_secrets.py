"""Which texts are secrets: keys as providers make them, and neither placeholders nor what only looks alike."""

import random
import string

import pytest

from tests.evaluation.lint.agents import Body, found_in_transcript

LETTERS = string.ascii_letters + string.digits
WORDY = LETTERS + "_-"


def chars(count: int, alphabet: str = LETTERS, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=count))


KEYS = {
    "an AWS access key": "ASIA" + chars(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "a GitHub token": "github_pat_" + chars(82),
    "a GitLab token": "glpat-" + chars(20),
    "an Anthropic key": "sk-ant-api03-" + chars(95, WORDY),
    "an OpenAI key": "sk-proj-" + chars(120, WORDY),
    "an OpenRouter key": "sk-or-v1-" + chars(64, "0123456789abcdef"),
    "a Google API key": "AIza" + chars(35, WORDY),
    "a Slack token": "xoxb-293847561029-" + chars(24),
    "a Stripe key": "sk_live_" + chars(24),
    "a Hugging Face token": "hf_" + chars(34),
    "an npm token": "npm_" + chars(36),
    "a PyPI token": "pypi-AgEI" + chars(150, WORDY),
    "a SendGrid key": f"SG.{chars(22)}.{chars(43)}",
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n"
    + chars(300, LETTERS + "+/\n"),
}
OTHERS = (
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "x" * 36,
    "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "sk-ant-api03-YOUR-KEY-HERE" + "-" * 80,
    "sk-proj-" + "abcabcab" * 10,
    "sk_test_" + chars(24),
    "AIza" + "A" * 35,
    "task-proj-" + chars(80),
    "npm_config_registry=https://registry.example.org/some/long/path",
    "commit " + chars(40, "0123456789abcdef"),
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\n" + chars(300),
    "xoxb-your-token",
)


def said(text: str) -> list[Body]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_found_and_never_shown(kind: str) -> None:
    (found,) = found_in_transcript(said(f"Use '{KEYS[kind]}' for it, as in {KEYS[kind]}."))
    assert (found.rule, found.count) == ("secrets", 2)
    assert found.what.startswith(f"{kind} (")
    assert not any(KEYS[kind][at : at + 12] in found.what for at in range(len(KEYS[kind]) - 12))


@pytest.mark.parametrize("text", OTHERS)
def test_a_placeholder_is_no_secret(text: str) -> None:
    assert found_in_transcript(said(f"Use '{text}' for it, as in {text}.")) == []
