"""Sessions for tests of the inspector, with hostile text in every place that a message has."""

import functools
import gzip
import json
import re
from base64 import b64decode
from typing import Any

from backscroll import ContextManager
from backscroll.cli.inspect.data import StoreInspector
from backscroll.stores.memory import MemoryStore
from tests.session.worker import Worker

HOSTILE = (
    "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script></script><!-- "
    "</pre><a href=\"javascript:document.title='hacked'\">x</a> \ud83d ${1+1} {{7*7}} \u2028 &lt;b&gt;"
)


def work_for(steps: int) -> Any:
    """Sessions with compactions, hostile text in every place that a message has, and a name that is hostile too."""
    store = MemoryStore()
    worker = Worker("openai", store)
    for _ in range(steps):
        worker.step()
    call = {"id": "x", "type": "function", "function": {"name": HOSTILE, "arguments": json.dumps({"a": HOSTILE})}}
    worker.manager.append(
        {"role": "user", "content": [{"type": "text", "text": HOSTILE}]},
        {"role": "assistant", "content": HOSTILE, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": HOSTILE},
    )
    worker.manager.get_messages_for_request()
    worker.manager.close()
    other = ContextManager(session="<b>other</b>", store=store)
    other.append({"role": "user", "content": "hello"})
    other.close()
    return worker


session_after = functools.cache(work_for)  # for tests that only look


def inspect_session(steps: int = 60, make: Any = session_after) -> Any:
    """An agent after so many steps, and what the inspector shows of its session."""
    worker = make(steps)
    return worker, StoreInspector(worker.store, "<i>store</i>.db")


def unpacked(page: Any) -> Any:
    """The data of an exported page."""
    (data,) = re.findall(r'<script type="text/plain" id="data">(.*?)</script>', page)
    return json.loads(gzip.decompress(b64decode(data)))
