"""What both managers share: construction and the methods that never wait."""

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Never, NoReturn, TypeVar

from backscroll.compaction.decision import Strategy
from backscroll.compaction.modes import STANDARD
from backscroll.compaction.native_request import NativeCompaction
from backscroll.compaction.options import CachePricing, Protection, ToolResultPreview
from backscroll.compaction.result import CompactionResult
from backscroll.compaction.strategies import AUTO
from backscroll.compaction.summarization import Summarizer, SummarizerFunction
from backscroll.compaction.trim import TrimRequest
from backscroll.errors import ConfigurationError
from backscroll.history.log import digest_of
from backscroll.manager.assembly import new_name, open_session
from backscroll.manager.driver import run_unlocked
from backscroll.manager.options import ManagerOptions, check_names
from backscroll.messages import Redact
from backscroll.messages.counted import Counted
from backscroll.notices import warn
from backscroll.ports import Ask, BackgroundTask, EventHandler, Operation, Store, Tokenizer
from backscroll.recall.pages import RecallResult
from backscroll.session.compact_tool import answer_compact
from backscroll.session.deed_record import DeedRecord
from backscroll.session.request import compact, compact_for_model, trim
from backscroll.session.state import SessionState, Write
from backscroll.session.store_sync import warm
from backscroll.session.summaries import begin_summary, summary_made
from backscroll.session.usage_reports import (
    observe_notes,
    observe_overflow,
    observe_refusal,
    observe_usage,
    reject_usage,
)
from backscroll.session.window_report import usage, usage_as_stored
from backscroll.stores.options import StorageOptions
from backscroll.tokens.budget import BudgetOptions
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.response_notes import was_cut
from backscroll.tokens.responses import IN_STREAMS, named, read_usage
from backscroll.tokens.usage import Usage
from backscroll.view.cache_marks import CacheMarks

if TYPE_CHECKING:
    from backscroll.manager.recalling import Recalling

MAIN = "main"
"""The lane of requests that name none."""
_DEFAULT_BUDGET, _IN_THE_STORE = BudgetOptions(), StorageOptions()

T = TypeVar("T")
Steps = Generator[Operation[Any], Any, T]
"""Operations to run in order; each one acquires and releases the lock."""
ReadDeeds = Callable[[SessionState, int, Collection[str] | None], Operation[list[DeedRecord]]]
SystemPrompt = Callable[[], str | Awaitable[str]]


class ManagerBase(ABC):
    """A session with its options; the two managers add the methods that wait."""

    _strict: bool = True
    """Whether `append` refuses what a dialect forbids. Adapters and imports take what their host holds: views heal it.
    """
    _write_view: Write | None = None
    """Converts each view to what the caller sends; an adapter sets it as a static method."""
    _shows_users = False
    """Whether the user's first and last message stay messages where a hand-over would quote them."""
    _reads_only = False
    """Whether lanes count tokens like the program that made their requests: true for the inspector."""

    def __init__(
        self,
        *misplaced: Never,
        store: str | Path | Store | None = None,
        session: str | None = None,
        lease: float | None = None,
        budget: int | BudgetOptions = _DEFAULT_BUDGET,
        mode: str = STANDARD.name,
        compact_threshold: float | None = None,
        target_usage: float | None = None,
        compact_at: int | None = None,
        compact_to: int | None = None,
        strategies: str | Sequence[str | Strategy] | None = AUTO,
        protect: Protection | None = None,
        tool_result_preview: ToolResultPreview | None = None,
        max_messages: int | None = None,
        clear_at_least_tokens: int | None = 5_000,
        plan_ahead: bool = True,
        overhead_tokens: int | None = None,
        tokenizer: str | Callable[[str], int] | Tokenizer = "auto",
        model: str | ModelProfile | None = None,
        cache_marks: str | CacheMarks | None = None,
        cache_pricing: CachePricing | None = None,
        summarizer: Summarizer | SummarizerFunction | None = None,
        native: NativeCompaction | None = None,
        storage: StorageOptions = _IN_THE_STORE,
        redact: Redact | None = None,
        on_event: EventHandler | None = None,
        telemetry: bool = False,
        **unknown: Never,
    ) -> None:
        given = locals()  # by name: among 26 arguments two that are exchanged are not seen
        check_names(misplaced, unknown)
        self._options = options = ManagerOptions(**{name: given[name] for name in ManagerOptions.__annotations__})
        self._open(options)

    def _open(self, options: ManagerOptions) -> None:
        self._background, self._native_background = backgrounds = self._make_background(), self._make_background()
        self._opened = open_session(
            options,
            *backgrounds,
            write=self._write_view,
            shows_users=self._shows_users,
            reads_only=self._reads_only,
        )
        self._session = self._opened.session
        self._recalling: Recalling | None = None
        self._loading = Lock()
        _warn_of_unused_name(options)

    def __repr__(self) -> str:
        """Return the session, its length, and its lanes in a line. Loads nothing."""
        state = self._session
        is_loaded = state.journal is None or state.entered
        length = f"{len(state.history.branch):,} messages" if is_loaded else "not loaded"
        lanes = [str(lane).strip("<>") for lane in state.lanes.values()]
        return f"<{type(self).__name__} {self.session_id}: {', '.join([length, *lanes])}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse copies and pickles: two managers of one session in memory would contradict each other."""
        raise ConfigurationError(
            "a manager cannot be copied or pickled: `fork()` makes a session of its own from a stored one, and another "
            "process opens the same one by its `store` and `session`"
        )

    def _lane_of(self, lane: str, model: str) -> str:
        """Return the lane of a request to a model: the named one for the manager's own model."""
        if model == self._options.model:
            return lane
        if not isinstance(model, str) or not model:
            raise ConfigurationError(f"`model` must be a model's name such as 'claude-opus-5-5', not {model!r:.80}")
        return model if lane == MAIN else f"{lane}/{model}"

    @abstractmethod
    def _make_background(self) -> BackgroundTask:
        """Return a runner, for summaries or for native compactions."""

    if not TYPE_CHECKING:  # type checkers report it themselves; each manager overrides the pair that is its own

        def __enter__(self) -> NoReturn:
            raise ConfigurationError(
                "this manager is asynchronous: write `async with`, or use `backscroll.ContextManager`"
            )

        def __exit__(self, *_: object) -> None:
            """Do nothing: the method above raises first."""

        async def __aenter__(self) -> NoReturn:
            raise ConfigurationError(
                "this manager is synchronous: write `with`, or use `backscroll.AsyncContextManager`"
            )

        async def __aexit__(self, *_: object) -> None:
            """Do nothing: the method above raises first."""

    def _fork_name(self, session: str | None) -> str:
        """Return the name for a fork. Raises `ConfigurationError` if the session cannot be forked."""
        if self._opened.store is None:
            raise ConfigurationError(
                'a session in memory cannot be forked: pass a `store`, such as store="sqlite:///agent.db"'
            )
        if "fork" not in self._opened.store.capabilities:
            raise ConfigurationError(
                f'{self._opened.store!r} cannot fork sessions: use SQLite, store="sqlite:///agent.db"'
            )
        return new_name() if session is None else session

    @property
    def session_id(self) -> str:
        """The session's name in its store: the one that was given, or a generated one."""
        return self._opened.name

    def prompt_cache_key(self, lane: str = "main") -> str:
        """Return the value for OpenAI's `prompt_cache_key`: stable for a lane of a stored session, also after a
        restart, and different for any other.

        The provider routes requests with the same key to the same cache. Source: "Prompt caching" (OpenAI).

        Args:
            lane: The lane of the request.

        Returns:
            43 characters, of which 32 depend on the session's name and the lane. The name cannot be read from it.
        """
        return f"backscroll-{digest_of(json.dumps([self.session_id, lane]))[:32]}"

    def set_system_prompt_factory(self, factory: SystemPrompt | None) -> None:
        """Set the function that returns the system prompt for every request.

        Its text replaces the stored system messages in views, except those that hooks added.

        Args:
            factory: A function without arguments, plain or async, that returns the text. `None`: remove it.
        """
        self._session.prompt = factory

    def usage(self, lane: str = "main") -> Usage:
        """Return window size, tokens by kind and free space of the lane, each marked `measured` or `estimated`.

        The figures describe the newest view that this manager made. Before its first view this reads the stored
        session, which takes as long as a resume and blocks the calling thread; `window_report` does not block an event
        loop.

        Args:
            lane: The lane of the window.

        Returns:
            The usage; all figures in tokens.

        Raises:
            StoreError: The store failed.
        """
        return usage(self._session, lane) or run_unlocked(usage_as_stored(self._session, lane))

    def observe_usage(
        self,
        *,
        input_tokens: int,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        lane: str = "main",
    ) -> None:
        """Record the provider's token count for the lane's last view. Later estimates are calibrated against it.

        Use `observe_response` if you have the response of a supported client. `input_tokens` and the two cache figures
        are added up, as Anthropic reports them. If the provider's figure includes cached tokens (OpenAI, Gemini),
        subtract both cache figures from `input_tokens`, or pass only `input_tokens`. Report single calls that were not
        aborted.

        A figure that cannot belong to that view is ignored. Totals of several requests and cached tokens that were
        counted twice are corrected. Both emit an event and a warning.

        Args:
            input_tokens: Uncached input tokens of the call.
            output_tokens: Output tokens of the call.
            cache_read_tokens: Input tokens read from the provider's prompt cache.
            cache_write_tokens: Input tokens written to the provider's prompt cache.
            lane: The lane whose view was sent.
        """
        counted = Counted(input_tokens, cache_read_tokens, cache_write_tokens, output_tokens)
        observe_usage(self._session, lane, counted)

    def observe_response(self, response: object, *, lane: str = "main") -> None:
        """Record the token count in a provider's response for the lane's last view.

        Does the same as `observe_usage`, and knows for OpenAI (chat and Responses), Anthropic, Gemini and Bedrock
        Converse which figures include cached tokens. It also reads what the provider says of the request: reasoning
        that it left out (`input_transformations`) and why its cache missed (`diagnostics`, `prompt_cache_diagnostics`).
        What follows from a change that the lane reported, or from a switch of model or account, is an event; anything
        else also warns. If the window was too small for the answer (`stop_reason` "model_context_window_exceeded"),
        this is recorded as by `observe_overflow`.

        Args:
            response: The response as the provider's client returns it, its usage alone, or either as a dict. Of a
                stream, the event or chunk that holds the usage. A response without usage is ignored, with an event and
                a warning.
            lane: The lane whose view was sent.

        Raises:
            ConfigurationError: The response is of another kind.
        """
        counted = read_usage(response)
        observe_notes(self._session, lane, response)
        if counted is None:
            reject_usage(self._session, lane, named(response), IN_STREAMS)
        else:
            observe_usage(self._session, lane, counted, read=True)
        if was_cut(response):
            observe_overflow(self._session, lane, None, None)

    def observe_overflow(
        self, *, requested_tokens: int | None = None, limit_tokens: int | None = None, lane: str = "main"
    ) -> None:
        """Record that the provider rejected the lane's last view as too long.

        The next view of the lane, and all later ones, keep to `limit_tokens`, or else to four fifths of the rejected
        size, even if the budget is larger; with an event and a warning. A limit that was guessed before the overhead
        outside the messages was known is removed by the first reported usage.

        Args:
            requested_tokens: Tokens of the rejected request, if the provider's error names both figures.
            limit_tokens: Tokens that the provider allows, if its error names both figures.
            lane: The lane whose view was sent.
        """
        observe_overflow(self._session, lane, requested_tokens, limit_tokens)

    def observe_refusal(self, *, lane: str = "main") -> None:
        """Record that the provider refused the lane's last view for another reason than its size.

        A view under a plan that an older version stored shows odd messages as they are, as long as the provider's cache
        may hold them. After a refusal it heals them.

        Args:
            lane: The lane whose view was sent.
        """
        observe_refusal(self._session, lane)

    def _warm(self) -> Operation[None]:
        yield from warm(self._session)
        yield Ask(self._load_rest, heavy=True)

    def _load_rest(self) -> None:
        """Load what the first compaction and the first recall need, which importing the package does not load."""
        from backscroll.compaction import prepared  # noqa: F401, PLC0415

        self._session.config.strategies()
        self._begin_recalling()

    def _compaction(self, lane: str, focus: str | None) -> Steps[CompactionResult | None]:
        """Yield the operations of `compact`; the summary is awaited without the lock."""
        if focus is not None:
            yield from self._summarise(lane, focus, None)
        done: CompactionResult | None = yield compact(self._session, lane)
        return done

    def _compact_for_model(self, lane: str, arguments: dict[str, object]) -> Operation[str]:
        session = self._session
        return answer_compact(partial(compact_for_model, session, lane), session.config.redact, arguments)

    def _trimming(self, lane: str, wish: TrimRequest, summarize: bool) -> Steps[CompactionResult | None]:
        """Yield the operations of `trim`; without a summary for one kind of messages, which only the digest covers."""
        if summarize and self._session.summaries is not None and wish.only == "all":
            yield from self._summarise(lane, None, wish)
        done: CompactionResult | None = yield trim(self._session, lane, wish)
        return done

    def _summarise(self, lane: str, focus: str | None, wish: TrimRequest | None) -> Steps[None]:
        while not (yield begin_summary(self._session, lane, focus, wish)):
            yield summary_made(self._session)
        yield summary_made(self._session)

    def _recall(self, *asked: Any, **named: Any) -> Operation[RecallResult]:
        recalling = self._recalling or (yield Ask(self._begin_recalling, heavy=True))
        return (yield from recalling.recall(*asked, **named))

    def _begin_recalling(self) -> "Recalling":
        from backscroll.manager.recalling import Recalling  # noqa: PLC0415  many sessions recall nothing

        with self._loading:
            self._recalling = self._recalling or Recalling(self._opened)
            return self._recalling

    def _deeds(self, since: int, kinds: Collection[str] | None) -> Operation[list[DeedRecord]]:
        deeds: ReadDeeds = yield Ask(_load_deeds, heavy=True)
        return (yield from deeds(self._session, since, kinds))

    def _close_search(self) -> None:
        if self._recalling is not None:
            self._recalling.close()

    def _forget_search(self) -> None:
        self._close_search()
        self._recalling = None


def _load_deeds() -> ReadDeeds:
    from backscroll.session.deeds import deeds  # noqa: PLC0415  many sessions ask for none

    return deeds


def _warn_of_unused_name(options: ManagerOptions) -> None:
    if options.session is not None and options.store is None and not options.telemetry:  # spans carry the name
        warn(
            f"`session` is {options.session!r}, but the session is kept in memory, where its name has no effect: pass "
            'a `store`, such as store="sqlite:///agent.db", or omit `session`'
        )
