"""Token accounting: model families and image rules, measuring parts, and the calibrator that learns from reports."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages import read_message
from backscroll.tokens.counts import Count, MediaCount
from backscroll.tokens.engines.measurer import Measurer
from backscroll.tokens.model_profiles import COUNTED, UNKNOWN, ModelProfile, family_of
from backscroll.tokens.usage import (
    CALL_TOKENS,
    MESSAGE_TOKENS,
    CalibratorSnapshot,
    Estimate,
    Report,
    UsageCalibrator,
    estimate_count,
    estimate_message,
)

BUDGET = 200_000

# --- families ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "models"),
    [
        (
            "claude",
            "claude-sonnet-4-5-20250929 claude-opus-4-20250514 claude-opus-4-1-20250805 claude-3-7-sonnet-20250219 "
            "anthropic/claude-3.7-sonnet anthropic/claude-sonnet-4.5 us.anthropic.claude-sonnet-4-20250514-v1:0 "
            "claude-3-opus-20240229 anthropic.claude-v2:1 claude-instant-1.2 claude-opus-4@20250514 claude-opus-4-6 "
            "us.anthropic.claude-3-5-sonnet-20241022-v2:0 claude-haiku-4-5",
        ),
        (
            "claude 4.7+",
            "us.anthropic.claude-opus-4-8-v1:0 claude-opus-4-7 claude-opus-4.7 claude-sonnet-5 claude-opus-4-10 "
            "claude-haiku-5-20270101 anthropic/claude-opus-4.8 claude-latest claude CLAUDE-OPUS-4-8",
        ),
        (
            "openai",
            "gpt-4o gpt-4o-2024-08-06 openai/gpt-5 gpt-5.1-codex o3-mini o1 o4-mini chatgpt-4o-latest "
            "azure/gpt-4.1-mini openai.gpt-oss-120b-1:0 ft:gpt-4o-mini:org::id GPT-4O o3",
        ),
        ("gemini", "gemini-2.5-pro google/gemini-2.0-flash-001 models/gemini-1.5-pro gemma-3-27b-it"),
        (
            "llama",
            "llama-3.1-70b meta-llama/Llama-3.3-70B-Instruct us.meta.llama3-1-70b-instruct-v1:0 llama3 "
            "deepseek-r1-distill-llama-70b TheBloke/Llama-2-7B-GPTQ",
        ),
        ("qwen", "Qwen3-235B-A22B Qwen/Qwen2.5-Coder-32B-Instruct qwq-32b deepseek-r1-distill-qwen-32b"),
        ("deepseek", "deepseek-chat deepseek-reasoner deepseek-ai/DeepSeek-V3"),
        ("mistral", "mistral-large mixtral-8x7b codestral-latest open-mistral-nemo ministral-8b magistral-medium-2506"),
        ("glm", "glm-4.6 zai-org/GLM-4.6 z-ai/glm-4.5-air"),
        ("kimi", "kimi-k2 moonshotai/Kimi-K2-Instruct moonshot-v1-128k"),
        ("unknown", "unknown command-r-plus amazon.nova-pro-v1:0 grok-4 phi-4 solo1 turbo3 main title"),
    ],
)
def test_real_model_names_find_their_family(family: str, models: str) -> None:
    assert {model: family_of(model).name for model in models.split()} == dict.fromkeys(models.split(), family)


def test_unknown_model_counts_plainly_and_known_adds_media_rules() -> None:
    """No model means as counted and a counted model keeps only its media rules."""
    assert family_of(None) is COUNTED
    assert family_of("") is COUNTED
    counted, claude = family_of("claude-opus-4-8", counted=True), family_of("claude-opus-4-8")
    assert (counted.factor, counted.per_digit, counted.exact) == (1.0, 0.0, True)
    assert (counted.image, counted.image_cap) == (claude.image, claude.image_cap)
    assert (claude.factor, claude.exact) == (1.52, False)
    assert not UNKNOWN.exact


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("gpt-4o", 1024, 1024, 765),  # as OpenAI's guide calculates
        ("gpt-4o", 2048, 4096, 1_105),
        ("gpt-4o", 512, 512, 255),
        ("gpt-4o", 1, 1, 255),
        ("gpt-4o-mini", 1024, 1024, 25_501),
        ("gpt-4o-mini", 512, 512, 8_500),
        ("gpt-4.1-mini", 1024, 1024, 1_659),
        ("gpt-5-nano", 1800, 2400, 3_779),
        ("o4-mini", 320, 320, 172),
        ("claude-sonnet-4-5", 200, 200, 64),  # one for each patch of 28 px
        ("claude-sonnet-4-5", 1000, 1000, 1_296),
        ("claude-sonnet-4-5", 3840, 2160, 1_568),
        ("claude-opus-4-8", 3840, 2160, 4_784),
        ("gemini-2.5-pro", 384, 384, 258),  # as Google's guide calculates
        ("gemini-2.5-pro", 960, 540, 1_548),
        ("gemini-2.5-pro", 3072, 3072, 16 * 258),
    ],
)
def test_images_count_as_the_providers_publish(model: str, width: int, height: int, tokens: int) -> None:
    assert family_of(model).image(width, height) == tokens
    media = MediaCount("image", width, height)
    assert estimate_count(media, family_of(model))[0] == tokens


@given(
    st.integers(1, 20_000), st.integers(1, 20_000), st.sampled_from(["gpt-4o", "claude-3", "gemini-2", "gpt-5-nano"])
)
def test_image_costs_tokens_and_the_same_when_turned(width: int, height: int, model: str) -> None:
    """Every image costs something and the same when it lies on its side."""
    image = family_of(model).image
    assert 0 < image(width, height) == image(height, width)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini", "gpt-5-mini", "o4-mini", "claude-3", "claude-opus-5"])
def test_an_image_of_unknown_size_costs_what_the_largest_would(model: str) -> None:
    family = family_of(model)
    sizes = [1, 31, 500, 768, 1_024, 1_568, 2_048, 4_096, 20_000]
    assert estimate_count(MediaCount("image"), family)[0] == max(family.image(w, h) for w in sizes for h in sizes)


def test_documents_count_by_page_and_other_media_by_size() -> None:
    claude, gemini = family_of("claude-sonnet-4-5"), family_of("gemini-2.5-pro")
    assert estimate_count(MediaCount("document", pages=3), claude)[0] == 9_000
    assert estimate_count(MediaCount("document", pages=3), gemini)[0] == 3 * 560
    assert estimate_count(MediaCount("document", size=400_000), claude)[0] == 100_000
    assert estimate_count(MediaCount("audio", size=5_000_000), claude)[0] == 10_000
    assert estimate_count(MediaCount("document", size=10), claude)[0] == claude.image_cap


# --- counts and estimates ------------------------------------------------------------------------------------------


class Words:
    """Counts words, and how often it was asked."""

    name = "words/1"
    exact = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return max(1, len(text.split()))


def test_measured_message_has_a_count_a_part_and_call_names() -> None:
    """A measured message has one count for each part and calls count their name."""
    url = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAA="
    message: dict[str, Any] = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "one two 3 \u4e2d\ud83d"},
            {"type": "image_url", "image_url": {"url": url}},
        ],
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read file", "arguments": "{} {}"}}],
    }
    tokenizer = Words()
    (counts,) = Measurer(tokenizer).measure([read_message(message)])
    assert counts == (Count(4, 1, 4, 12), MediaCount("image", 3, 2, 0, 46), Count(4, 0, 0, 5))
    assert not [text for text in tokenizer.asked if "base64" in text]


def test_text_is_counted_once_and_tool_names_are_remembered() -> None:
    """Every text is counted once and a tools name is remembered."""
    tokenizer = Words()
    measurer = Measurer(tokenizer)
    message = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": t} for t in ("x", "y", "")]}
    call = {"role": "assistant", "tool_calls": [{"id": "a", "tool": "read", "arguments": {"n": 1}}]}
    measurer.measure([read_message(message), read_message(call), read_message(call)])
    assert tokenizer.asked == ["x", "y", '{"n":1}', "read", '{"n":1}']


@given(st.text(st.characters(), max_size=30))
def test_digits_and_wide_bytes_of_any_text_are_counted(text: str) -> None:
    count = Measurer(Words()).count(text)
    wide = sum(len(letter.encode("utf-8", "surrogatepass")) - 1 for letter in text)
    assert (count.digits, count.wide, count.size) == (sum(letter in "0123456789" for letter in text), wide, len(text))


def test_estimates_grow_with_factor_digits_and_density() -> None:
    family = ModelProfile("test", factor=1.5, per_digit=0.5)
    assert estimate_count(Count(100, 0, 0, 400), family) == (150.0, 195.0)
    assert estimate_count(Count(100, 41, 0, 400), family) == (170.5, pytest.approx(170.5 * 1.6))  # type: ignore[comparison-overlap]  # of a number and what approximates it
    assert estimate_count(Count(100, 0, 81, 400), family) == (150.0, pytest.approx(150 * 1.6))  # type: ignore[comparison-overlap]  # likewise
    assert estimate_count(Count(100, 50, 81, 400), COUNTED) == (100, 102.0)


def test_a_message_costs_its_parts_its_calls_and_its_framing() -> None:
    calls = [{"id": name, "tool": "f", "arguments": {}} for name in "ab"]
    reading = read_message({"role": "assistant", "content": "x", "tool_calls": calls})
    counts = (Count(100, 0, 0, 400), Count(10, 0, 0, 40), Count(10, 0, 0, 40))
    framing = MESSAGE_TOKENS + 2 * CALL_TOKENS
    assert estimate_message(reading, counts, COUNTED) == (120 + framing, 123 + framing)
    assert estimate_message(reading, counts, ModelProfile("test", factor=1.5)) == (180 + framing, 234 + framing)


# --- the calibrator ------------------------------------------------------------------------------------------------


def test_first_estimate_is_the_count_plus_given_overhead() -> None:
    """Before any report the estimate and the given overhead are all."""
    assert UsageCalibrator().total(Estimate(100, 130), BUDGET) == (100, 130)
    assert UsageCalibrator(5_000).total(Estimate(100, 130), BUDGET) == (5_100, 5_130)
    assert not UsageCalibrator().measured


def test_report_is_the_anchor_and_later_messages_are_estimated() -> None:
    """A report is the anchor and only what came since is estimated."""
    calibrator = UsageCalibrator()
    calibrator.observe(Report(25_000, 10_000, 13_000))
    assert calibrator.measured
    assert calibrator.total(Estimate(10_000, 13_000), BUDGET) == (25_000, 25_000)
    assert calibrator.total(Estimate(11_000, 14_300), BUDGET) == (26_000, 26_300)


def test_overhead_is_learned_from_the_first_report_within_bounds() -> None:
    """Overhead is learned from the first report and leaves a tenth of the budget."""
    calibrator = UsageCalibrator()
    calibrator.observe(Report(25_000, 10_000, 13_000))
    assert calibrator.overhead(BUDGET) == 15_000
    assert calibrator.overhead(16_000) == 14_400
    given_one = UsageCalibrator(700)
    given_one.observe(Report(25_000, 10_000, 13_000))
    assert given_one.overhead(BUDGET) == 700


@given(st.integers(0, 20_000), st.integers(1, 20_000), st.integers(1, 30_000), st.floats(0.1, 1.0))
def test_a_refused_view_does_not_fit_the_budget_after_it(overhead: int, view: int, budget: int, share: float) -> None:
    """A smaller budget allows for less overhead: that alone must not make room for the view again."""
    calibrator = UsageCalibrator()
    calibrator.outside = overhead
    most = calibrator.filled_by(Estimate(view, view), share, budget)
    part = Estimate(int(view * share), int(view * share))
    assert most <= budget
    assert most == 0 or calibrator.total(part, most).upper >= most
    assert most == budget or calibrator.total(part, most + 1).upper < most + 1
    assert calibrator.filled_by(None, share, budget) == budget


def test_first_report_may_hold_a_large_but_bounded_overhead() -> None:
    """The first report may hold a large unknown overhead but not anything."""
    accepted = {
        tokens: UsageCalibrator().plausible(Report(tokens, 1_000, 1_300), BUDGET)
        for tokens in (500, 1_000, 16_000, 103_000)
    }
    refused = {
        tokens: UsageCalibrator().plausible(Report(tokens, 1_000, 1_300), BUDGET)
        for tokens in (-1, 0, 499, 103_001, 10**9)
    }
    assert all(accepted.values()), accepted
    assert not any(refused.values()), refused


def test_overhead_is_the_median_of_reports_and_can_fall() -> None:
    """The overhead is the median of recent reports and falls again."""
    calibrator = UsageCalibrator()
    for tokens in (13_000, 13_000, 13_000, 25_000, 13_000):
        calibrator.observe(Report(tokens, 10_000, 13_000))
        assert calibrator.overhead(BUDGET) == 3_000
    learned = []
    for tokens in (25_000, 25_000, 25_000, 11_000, 11_000, 11_000):
        calibrator.observe(Report(tokens, 10_000, 13_000))
        learned.append(calibrator.overhead(BUDGET))
    assert learned == [3_000, 15_000, 15_000, 15_000, 15_000, 1_000]


def test_more_overhead_is_feared_from_its_first_report_on() -> None:
    """As when tools are added: what a provider said last is never undercut, also where its view is gone."""
    calibrator = UsageCalibrator()
    for tokens in (12_000, 12_000, 27_000):
        calibrator.observe(Report(tokens, 10_000, 13_000))
    calibrator.forget()
    assert calibrator.overhead(BUDGET) == 2_000
    assert calibrator.total(Estimate(10_000, 13_000), BUDGET) == (12_000, 30_000)


def test_contradicting_reports_leave_half_of_the_budget() -> None:
    """Reports that contradict each other leave half of the budget."""
    steady, unsteady = UsageCalibrator(), UsageCalibrator()
    for tokens in (38_000, 39_000, 40_000, 41_000, 42_000):
        steady.observe(Report(tokens, 10_000, 13_000))
    for tokens in (18_000, 28_000, 38_000, 48_000, 58_000):
        unsteady.observe(Report(tokens, 10_000, 13_000))
    assert (steady.overhead(40_000), steady.overhead(32_000)) == (30_000, 28_800)
    assert (unsteady.overhead(40_000), unsteady.overhead(BUDGET)) == (20_000, 28_000)


def test_growth_without_text_does_not_change_the_factor() -> None:
    """One growth that no text explains says nothing of the factor."""
    calibrator = UsageCalibrator()
    for tokens, expected in ((1_000, 1_000), (2_000, 2_000), (17_000, 3_000), (18_000, 4_000), (10_000, 5_000)):
        calibrator.observe(Report(tokens, expected, expected))
        assert calibrator.factor == 1.0


def test_a_meter_goes_on_from_its_mark_also_from_one_of_old() -> None:
    calibrator, other, old = UsageCalibrator(), UsageCalibrator(), UsageCalibrator()
    for tokens in (13_000, 25_000, 14_000):
        calibrator.observe(Report(tokens, 10_000, 13_000))
    other.restore(calibrator.snapshot())
    old.restore(CalibratorSnapshot(*calibrator.snapshot()[:8]))
    assert other.snapshot() == calibrator.snapshot()
    assert (old.overhead(BUDGET), old.snapshot().recent) == (calibrator.overhead(BUDGET), ())
    for each in (calibrator, other, old):
        each.observe(Report(13_500, 10_000, 13_000))
    assert other.snapshot() == calibrator.snapshot()
    assert old.overhead(BUDGET) == 3_500


def test_absurd_reports_are_refused_once_overhead_is_known() -> None:
    """Once the overhead is known absurd reports are refused in both directions."""
    learned = UsageCalibrator()
    learned.observe(Report(25_000, 10_000, 13_000))
    for calibrator in (learned, UsageCalibrator(15_000)):
        answers = {
            tokens: calibrator.plausible(Report(tokens, 10_000, 13_000), BUDGET) for tokens in (12_500, 25_000, 75_000)
        }
        assert all(answers.values()), answers
        assert not calibrator.plausible(Report(12_499, 10_000, 13_000), BUDGET)
        assert not calibrator.plausible(Report(75_001, 10_000, 13_000), BUDGET)


def test_a_long_answer_does_not_make_a_report_absurd() -> None:
    calibrator = UsageCalibrator(0)
    assert calibrator.plausible(Report(1_000, 1_000, 1_300, answer=60_000), BUDGET)
    assert not calibrator.plausible(Report(400, 1_000, 1_300, answer=60_000), BUDGET)


def test_factor_is_learned_slowly_first_and_well_later() -> None:
    """The factor is learned slowly at first and well after much text."""
    calibrator, factors = UsageCalibrator(), []
    for sent in range(1_000, 101_000, 1_000):
        calibrator.observe(Report(15_000 + int(1.5 * sent), sent, sent))
        factors.append(calibrator.factor)
    assert factors[0] == 1.0
    assert 1.0 < factors[1] < 1.25  # one message of 1,000 tokens weighs less than the prior of 2,000
    assert factors == sorted(factors)
    assert factors[-1] == pytest.approx(1.5, abs=0.02)
    assert calibrator.overhead(BUDGET) == pytest.approx(15_000, abs=2_000)


@pytest.mark.parametrize(("truth", "factor"), [(0.01, 0.5), (50.0, 3.0)])
def test_the_slope_stays_within_reason(truth: float, factor: float) -> None:
    calibrator = UsageCalibrator()
    for sent in range(10_000, 1_000_000, 10_000):
        calibrator.observe(Report(int(truth * sent), sent, sent))
    assert calibrator.factor == factor


def test_small_compaction_keeps_the_anchor_and_credits_less() -> None:
    """A small compaction keeps the anchor and credits a little less than was removed."""
    calibrator = UsageCalibrator()
    calibrator.observe(Report(25_000, 10_000, 13_000))
    calibrator.compacted(Estimate(1_100, 1_430))
    assert calibrator.measured
    assert calibrator.total(Estimate(8_900, 11_570), BUDGET) == pytest.approx((24_000, 24_000), abs=1)


def test_large_compaction_drops_the_anchor_and_keeps_learning() -> None:
    """A large compaction drops the anchor and keeps what was learned."""
    calibrator = UsageCalibrator()
    calibrator.observe(Report(25_000, 10_000, 13_000))
    calibrator.compacted(Estimate(5_001, 6_500))
    assert not calibrator.measured
    assert calibrator.total(Estimate(4_999, 6_500), BUDGET) == (19_999, 21_500)


def test_asking_for_the_total_after_compaction_changes_nothing() -> None:
    """Asking what would follow a compaction changes nothing and answers the same."""
    for removed in (Estimate(1_000, 1_300), Estimate(8_000, 10_400)):
        calibrator = UsageCalibrator()
        calibrator.observe(Report(25_000, 10_000, 13_000))
        left = Estimate(10_000 - removed.expected, 13_000 - removed.upper)
        foretold = calibrator.after(left, removed, BUDGET)
        assert calibrator.total(Estimate(10_000, 13_000), BUDGET) == (25_000, 25_000)
        calibrator.compacted(removed)
        assert calibrator.total(left, BUDGET) == foretold


def test_rewind_forgets_what_was_sent_but_not_the_learning() -> None:
    """What was sent before a rewind is forgotten but not what was learned."""
    calibrator = UsageCalibrator()
    calibrator.observe(Report(25_000, 10_000, 13_000))
    calibrator.forget()
    assert not calibrator.measured
    assert calibrator.total(Estimate(100, 130), BUDGET) == (15_100, 15_130)


@given(st.integers(0, 2**32), st.integers(0, 2_000))
def test_claude_session_never_exceeds_the_upper_estimate(seed: int, answer: int) -> None:
    """True tokens are 1.5 times the counted ones and 15,000 of tools; the family says 1.2. Two reports are enough."""
    chance, family, calibrator = random.Random(seed), family_of("claude-sonnet-4-5"), UsageCalibrator()
    counted: list[int] = []

    def view() -> Estimate:
        each = [estimate_count(Count(tokens, 0, 0, 4 * tokens), family) for tokens in counted]
        return Estimate(round(sum(expected for expected, _ in each)), round(sum(upper for _, upper in each)))

    for reports in range(60):
        counted += [chance.randrange(1, chance.choice([50, 500, 5_000])) for _ in range(chance.randrange(1, 4))]
        if view().upper > 60_000:  # a compaction somewhere behind the first message
            before, keep = view(), chance.uniform(0.2, 0.9)
            counted[1:] = counted[1 + int(len(counted) * (1 - keep)) :]
            calibrator.compacted(Estimate(before.expected - view().expected, before.upper - view().upper))
        truth = 15_000 + sum(1.5 * tokens for tokens in counted)
        sent = view()
        if reports >= 2:
            assert calibrator.total(sent, BUDGET).upper >= int(truth)
        report = Report(round(truth), sent.expected, sent.upper, answer)
        assert calibrator.plausible(report, BUDGET)
        calibrator.observe(report)
        counted.append(max(1, round(answer / 1.5)))


def test_an_answer_that_was_reported_and_then_added_counts_once() -> None:
    calibrator = UsageCalibrator(0)
    calibrator.observe(Report(1_000, 1_000, 1_000, answer=500))
    assert calibrator.total(Estimate(1_500, 1_500), BUDGET).expected == pytest.approx(1_500, abs=50)


@pytest.mark.parametrize("share", [0.5, 0.4])
def test_estimate_stays_above_half_after_many_compactions(share: float) -> None:
    """After many compactions the estimate is never below half of what is there."""
    calibrator, left = UsageCalibrator(0), 10_000
    calibrator.observe(Report(5_000, left, left))
    for _ in range(6):
        removed = int(left * share)
        left -= removed
        calibrator.compacted(Estimate(removed, removed))
        assert calibrator.total(Estimate(left, left), BUDGET).expected >= left // 2


def test_anchor_is_dropped_once_half_of_its_view_left() -> None:
    """The anchor is dropped once half of its view is gone also in small steps."""
    calibrator, left = UsageCalibrator(), 10_000
    calibrator.observe(Report(25_000, left, left))
    for _ in range(3):
        left -= 2_000
        calibrator.compacted(Estimate(2_000, 2_000))
    assert not calibrator.measured
