"""Choose what a view leaves out, and write the digest of it.

Deciding:

- `policy.py`         when a lane is compacted, and how far; `decision.py` is its input, with strategies, and its output
- `lane_state.py`     the state of a lane that decisions depend on
- `candidates.py`     what a strategy sees, and the edits it can make
- `plan_builder.py`   a plan in the making, and what it frees
- `pipeline.py`       the first trigger: the order of strategies, when to stop, and the last resort
- `cache_pricing.py`  the second trigger: clearing a batch of old results if that pays at cache prices
- `last_resort.py`    cutting required messages if these alone do not fit
- `triggers.py`       when there is something to decide: the checks that every request makes
- `prepared.py`       plans that are prepared before they are needed; `upcoming.py` the summary to request for them
- `regrowth.py`       what comes back when a lane's budget grew
- `floor.py`          the messages that every view requires; `in_place.py` those that keep their place by rank
- `arrival_rule.py`   which new results are too large to be shown whole even once
- `reasoning.py`      which reasoning a view may still show after an edit
- `media_limits.py`   clearing media that exceed what a provider accepts
- `model_request.py`  compactions that the model asks for
- `native.py`         whether a provider's own compaction is worth using; `native_request.py` asks for it; `quotes.py`
  quotes what every view requires behind it
- `long_turns.py`     outputs of tools that come as messages of a user
- `required.py`       what every view requires, and `result.py` and `report.py` what a compaction did
- `working_set.py`    what the agent works by, which compactions spare
- `back_references.py` which earlier results those of a view refer to, and whether it shows them
- `restating.py`      showing an earlier result in the place of a later one that refers to it
- `trim.py`           leaving out messages on request
- `options.py`        the options with their ranges
- `modes.py`          presets of these options, and what each buys
- `strategies/`       one strategy each, their names, and the default order of harm

Writing:

- `digest/terms.py`           the terms of a text, and its lines
- `digest/relevance.py`       the weight of terms in a window
- `digest/line_selection.py`  choosing lines that together mention most of that weight
- `file_calls.py`             which file a call names, and what it writes to it
- `digest/stale_lines.py`     lines that an edit removed
- `digest/overwritten.py`     lines that left a file when it was overwritten
- `stale_excerpts.py`         taking these lines out of excerpts and previews
- `tidying.py`          results without what hosts and programs add for their own use
- `salient_lines.py`          results cut to the lines that matter most; `sampling.py` how much of a text is read
- `digest/user_rules.py`      sentences in which a user states a rule, and how strong it is
- `digest/squeezing.py`       which rules go where nothing else is left
- `digest/rule_markers.py`    the words that state rules, by language
- `digest/repeated.py`        lines that hosts put into every message of a user
- `digest/outdated.py`        statements that a user replaced
- `digest/notes.py`           the digest lines of one turn
- `digest/tallies.py`         lines of turns merged
- `digest/writer.py`          the digest
- `digest/appending.py`       a digest that begins with the one before, and `digest/shrinking.py` a shorter one
- `handover/`                 a hand-over in place of the digest: a chronicle of turns, the state, the files
- `summarization.py`          summaries by a model, which `verification/` checks
"""
