"""The hand-over exam: who gets a view in place of a session answers questions on what comes next.

    exam.py         the command
    recordings.py   points where sessions were cut, their messages, and the questions with their keys
    makers.py       what a reader gets: views of this tree, newest messages, recorded summaries
    sheets.py       who reads what, and the sheets
    scores.py       what the grader gets, and the scores with their intervals
    counts.py       faults of views that code can count
    prompts/        what readers and graders are asked to do

`points.json` and `keys/` are ours; `--points` names other files of the same form. `aside.json` is such a file, with
questions that are kept aside: they are read once a version, and not while anything is developed. `sheets.json` has a
checksum of each sheet that a published figure comes from.
"""
