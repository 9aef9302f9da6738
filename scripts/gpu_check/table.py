"""Writes each row of the table as it is done: to standard output, to table.txt, and as a line of JSON to table.jsonl."""

import json
import textwrap

OK, FAILED, MISSING, LEFT_OUT = "ok", "FAILED", "missing", "left out"
FALLBACK = "fallback"  # The numbers are correct, but the run did not use the first choice.


class Table:
    def __init__(self, folder):
        self.files = open(folder / "table.txt", "w"), open(folder / "table.jsonl", "w")
        self.rows = []

    def say(self, line):
        print(line, flush=True)
        self.files[0].write(line + "\n")
        self.files[0].flush()

    def add(self, stage, name, state, seconds, result, diagnosis=None, log=None, **numbers):
        """`result` is for people; `numbers` go only to table.jsonl, together with all other arguments."""
        row = dict(stage=stage, row=name, state=state, seconds=round(seconds, 3), result=result, **numbers)
        self.say("%-8s %-12s %-34s %6.1f s  %s" % (state, stage, name, seconds, result))
        if diagnosis:
            row.update(call=diagnosis.call, next=diagnosis.next, more=diagnosis.more)
            for title, text in (("call", diagnosis.call), *(("", line) for line in diagnosis.more), ("next", diagnosis.next)):
                self.say(textwrap.fill(text, 150, initial_indent="         %-5s " % title, subsequent_indent=" " * 15))
        if log and state in (FAILED, FALLBACK):
            row["log"] = str(log)
            self.say("         log   %s" % log)
        self.rows.append(row)
        self.files[1].write(json.dumps(row) + "\n")
        self.files[1].flush()

    def count(self, state):
        return sum(row["state"] == state for row in self.rows)

    def finish(self, seconds):
        """Prints the last lines, and returns whether all rows passed."""
        failed = [row for row in self.rows if row["state"] == FAILED]
        self.say("%d ok, %d failed, %d fallback, %d missing, %d left out in %.0f s" % (
            self.count(OK), len(failed), self.count(FALLBACK), self.count(MISSING), self.count(LEFT_OUT), seconds))
        if failed:
            self.say("first failure: stage %s, %s: %s" % (failed[0]["stage"], failed[0]["row"], failed[0].get("call", "")))
            self.say("next: %s" % failed[0].get("next", ""))
        return not failed
