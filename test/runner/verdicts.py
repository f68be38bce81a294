"""verdicts.py - kept verdicts of deep shards, each for the contents of the paths of its shard.

A verdict belongs to the hash of all files below the paths of its shard, so that it holds for every commit in which these are the
same. It is kept outside of the checkout (WEIR_VERDICTS, default: the user's cache), one file for each shard and hash, written
whole or not at all. `--publish` copies the newest of each shard into test/runner/proved.json, which other machines read.
"""

import datetime
import hashlib
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = os.path.join(ROOT, "test", "runner", "proved.json")
STORE = os.environ.get("WEIR_VERDICTS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weir", "verdicts")


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def tree(paths, commit="HEAD"):
    """Hash of the contents of all files below these paths in a commit."""
    listing = "\n".join(line for line in (git("ls-tree", "-r", commit, "--", *sorted(paths)) or "").splitlines()
                        if not line.endswith("\ttest/runner/proved.json"))
    return hashlib.sha256(listing.encode()).hexdigest()[:16]


def changes():
    """Paths that differ from HEAD; None outside of a git checkout."""
    status = git("status", "--porcelain")
    return None if status is None else status.splitlines()


def subject(paths):
    """The subject of a run that begins now: the hash of the contents of these paths, and the commit."""
    return {"tree": tree(paths), "commit": git("rev-parse", "--short=12", "HEAD")}


def keep(shard, judged, passed, failed, seconds):
    """Writes a verdict. `judged`: subject() when the run began."""
    verdict = {"shard": shard, **judged, "passed": passed, "failed": failed, "seconds": round(seconds),
               "at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
    folder = os.path.join(STORE, shard)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{verdict['tree']}.json")
    with open(f"{path}.new", "w") as stream:
        json.dump(verdict, stream, indent=1)
    os.replace(f"{path}.new", path)
    return verdict


def read(path):
    try:
        with open(path) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def published():
    """{shard: its verdict} of the repository."""
    return {verdict["shard"]: verdict for verdict in read(PUBLISHED) or []}


def age(verdict):
    """The number of commits since a verdict; None where there is none, or where its commit is not in this history."""
    count = git("rev-list", "--count", f"{verdict['commit']}..HEAD") if verdict else None
    return None if count is None else int(count)


def most_wanted(shards):
    """The shard of these whose published verdict is red, missing or, of all others, the oldest."""
    known = published()

    def urgency(shard):
        verdict = known.get(shard)
        old = age(verdict)
        return bool(verdict and verdict["failed"]), old is None, old or 0
    return max(shards, key=urgency)


def kept(shard):
    """All verdicts of a shard that are known here, the newest last."""
    folder = os.path.join(STORE, shard)
    own = [read(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".json")] if os.path.isdir(folder) else []
    return sorted(filter(None, [*own, published().get(shard)]), key=lambda verdict: verdict["at"])


def judge(verdicts, now):
    """(state, verdict): `proved` or `failed` for the tree `now`, `stale` for another one, `never`."""
    same = [verdict for verdict in verdicts if verdict["tree"] == now]
    if same:
        return ("failed" if same[-1]["failed"] else "proved"), same[-1]
    return ("stale", verdicts[-1]) if verdicts else ("never", None)


def state(suite):
    return judge(kept(suite.name), tree(suite.paths))


def publish(suites):
    """Writes the newest verdict of each of these shards into the repository. @return how many"""
    newest = [verdicts[-1] for verdicts in (kept(suite.name) for suite in suites) if verdicts]
    with open(PUBLISHED, "w") as stream:
        json.dump(newest, stream, indent=1)
        stream.write("\n")
    return len(newest)
