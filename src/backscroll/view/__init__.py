"""What is sent: history and plan, rendered as messages.

- `view.py`: keeps the view of one lane up to date
- `context.py`: what a view needs apart from history and plan, and what a caller's own form of it is made from
- `lane_groups.py`: the groups of a history as one lane shows them
- `segment.py`: a piece of a view: what belongs together in it, with its place
- `group_rendering.py`: a group with its edits as messages; `group_weight.py` their tokens and media
- `rendering.py`: the texts of a view's own messages and edits
- `chronicle.py`: the text of a chronicle, of the state and of the files
- `escaping.py`: keeps text from imitating a view's own notation
- `text_weights.py`: the weights of the texts that a view adds, kept with its plan
- `tool_pairs.py`: rejects what a provider would reject
- `separation.py`: whether a line has to separate two messages that were not consecutive
- `ephemerals.py`: messages that are never stored
- `cache_marks.py`: marks for a provider's prompt cache
- `view_message.py`: the messages of a view, each with the messages of the conversation that it represents
"""
