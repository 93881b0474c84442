#!/usr/bin/env python3
"""Checks a Chrome trace as viewers need it: phases they know, named processes and threads, slices of a thread that keep apart.

Usage: check_trace.py FILE
"""
import collections
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    problems, named, tracks = [], set(), collections.defaultdict(list)
    for event in document["traceEvents"]:
        place = (event["pid"], event.get("tid", 0))
        if event["ph"] == "M":
            named.add((event["name"], *place))
        elif event["ph"] == "X":
            tracks[place].append((event["ts"], event["dur"], event["name"], event["args"]))
        elif event["ph"] not in "C":
            problems.append(f"phase {event['ph']}")
    for (process, thread), slices in tracks.items():
        if ("process_name", process, 0) not in named or ("thread_name", process, thread) not in named:
            problems.append(f"process {process} thread {thread} has no name")
        end = 0
        for start, duration, name, _ in slices:  # in the order of the file
            if start < end - 1e-6 or duration <= 0:
                problems.append(f"'{name}' at {start} us begins before {end} us, or takes no time")
            end = start + duration
    if document["otherData"]["slices"] != sum(map(len, tracks.values())):
        problems.append("otherData counts other slices")
    for problem in problems[:20]:
        print(problem)
    processes = {process for process, _ in tracks}
    print(f"{len(processes)} processes, {sum(map(len, tracks.values()))} slices: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
