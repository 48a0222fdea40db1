"""Options for one's own transcripts: `backscroll tune`.

- `split.py`: which transcripts are one conversation, and the two halves
- `candidates.py`: options that differ from the defaults, and the grid of their values
- `search.py`: steps along one option at a time, over the training half
- `judging.py`: a candidate next to the defaults, paired by conversation, with intervals
- `tuning.py`: the search, and the one judgment on the held-out half
"""
