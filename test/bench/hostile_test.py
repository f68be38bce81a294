#!/usr/bin/env python3
"""hostile_test.py - the table of attacks on canned samples: ratios, rows, families, marks, missing rows; how a round goes on; its page."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

from bench.lib import record, report, results_page  # noqa: E402  (the path above comes first)
from bench.system import hostile, hostile_floods, hostile_table  # noqa: E402
from bench.system.hostile_table import NONE, Row  # noqa: E402

FLOOD = Row("floods", "a flood", "neighbors")


def sample(number, row=None, part="floods", distance="near", visit=1, **more):
    """A stretch beside `row`, or without an attack: 100 %, p50 2 us and p99 10 us each way, unless `more` says otherwise."""
    times = {f"{way}_{key}": value for way in ("in", "out") for key, value in (("percent", 100.0), ("p50_us", 2.0), ("p99_us", 10.0))}
    part, name, group = (row.part, row.name, row.group) if row else (part, NONE, NONE)
    return {"visit": visit, "stretch": number, "part": part, "attack": name, "group": group, "cores": distance, "attack_mpps": 3.0,
            "attack_steps": 7, **times, **more}


class Ratios(unittest.TestCase):
    def test_times_are_over_those_just_before_and_just_after(self):
        samples = [sample(1, in_p99_us=10.0), sample(2, FLOOD, in_p99_us=30.0), sample(3, in_p99_us=20.0), sample(4, in_p99_us=900.0)]
        self.assertAlmostEqual(hostile_table.ratio(samples, samples[1], "in", "p99_us"), 30 / 15)

    def test_other_visits_parts_and_distances_are_not_beside_it(self):
        other = [sample(1, visit=2), sample(1, part="attacks"), sample(1, distance="far"), sample(11)]
        self.assertEqual(hostile_table.without(other, sample(2, FLOOD)), [])

    def test_a_row_has_the_median_of_its_rounds_of_one_distance(self):
        samples = [each for number, p99, distance in ((1, 12.0, "near"), (3, 15.0, "near"), (5, 99.0, "far"), (7, 18.0, "near"))
                   for each in (sample(number, distance=distance), sample(number + 1, FLOOD, distance=distance, out_p99_us=p99))]
        kept = hostile_table.kept(samples, FLOOD)
        self.assertEqual((kept.cores, kept.ways["out"].p99, kept.p99_ratio), ("near", 15.0, 1.5))

    def test_the_worse_way_counts(self):
        samples = [sample(1), sample(2, FLOOD, in_percent=98.0, out_p99_us=25.0)]
        kept = hostile_table.kept(samples, FLOOD)
        self.assertEqual((kept.percent, kept.p99_ratio), (98.0, 2.5))


class Missing(unittest.TestCase):
    def test_a_row_without_a_figure_is_missing_and_never_empty(self):
        complete = [sample(1), sample(2, FLOOD)]
        self.assertEqual(hostile_table.missing(complete, [FLOOD]), [])
        for samples in ([], [sample(2, FLOOD)], [sample(1), sample(2, FLOOD, out_p99_us=None)], [sample(1, distance="far"), sample(2, FLOOD)],
                        [sample(1, in_p50_us=None), sample(2, FLOOD)]):
            self.assertEqual(hostile_table.missing(samples, [FLOOD]), [FLOOD])

    def test_a_missing_row_ends_the_bench_with_its_name_and_the_reason(self):
        def measure(found, rows):
            found.drop("no time", attack=rows[0].name)
        with mock.patch.object(hostile, "every_row", return_value=[FLOOD]), mock.patch.object(hostile, "rounds", side_effect=measure), \
                mock.patch.object(hostile, "prepare"), mock.patch.object(record, "progress"), mock.patch.object(hostile, "finish") as finish, \
                mock.patch.object(sys, "argv", ["hostile"]), self.assertRaisesRegex(SystemExit, "could not be measured: a flood; no time"):
            hostile.main()
        finish.assert_not_called()

    def test_the_reason_is_the_rows_own_or_that_of_the_last_visit(self):
        dropped = [{"attack": "a flood", "reason": "the cores moved"}, {"reason": "a flood: the flood offered no frame"}, {"reason": "no socket"}]
        self.assertEqual(hostile.reason_of(dropped, FLOOD), "a flood: the flood offered no frame")
        self.assertEqual(hostile.reason_of(dropped, Row("floods", "another", "fan-in")), "no socket")

    def test_an_attacker_that_failed_hung_or_did_nothing_was_not_measured(self):
        def attacker(status, output="", hangs=False):
            child = mock.Mock()
            child.wait.side_effect = subprocess.TimeoutExpired("weir-hostile", 1) if hangs else [status]
            return argparse.Namespace(child=child, output=lambda: output)
        self.assertEqual(hostile.what_was_done(attacker(0, 'begins\n{"steps": 3}\n'), 1), {"steps": 3})
        for broken, reason in ((attacker(-11), "status -11"), (attacker(0, '{"steps": 0}'), "no step")):
            with self.assertRaisesRegex(RuntimeError, reason):
                hostile.what_was_done(broken, 1)
        with self.assertRaisesRegex(TimeoutError, "did not end within 1 s"):
            hostile.what_was_done(attacker(0, hangs=True), 1)

    def test_words_choose_rows_and_unknown_ones_are_an_error(self):
        rows = [FLOOD, Row("attacks", "loop", "descriptors")]
        self.assertEqual(hostile.chosen(rows, []), rows)
        self.assertEqual(hostile.chosen(rows, ["descr"]), rows[1:])
        with self.assertRaisesRegex(SystemExit, "--rows: found 'lop'; allowed: words of the rows that --list prints"):
            hostile.chosen(rows, ["loop", "lop"])


class Tables(unittest.TestCase):
    def test_rows_of_near_and_of_far_cores_share_the_table_and_name_their_distance(self):
        other = Row("floods", "another", "fan-in")
        samples = [sample(1), sample(2, FLOOD), sample(3, distance="far"), sample(4, other, distance="far")]
        table, judged = report.tables_of(hostile, samples)
        self.assertEqual([row[0] for row in table.rows], ["none", "a flood", "another"])
        self.assertEqual([row[-1] for row in table.rows], ["near", "near", "far"])
        self.assertEqual(table.rows[1][2:5], ["100.00", "2.0 us, 1.00 x", "10.0 us, 1.00 x"])
        self.assertTrue(judged.title.startswith("Against the targets (5 met)"))

    def test_many_attacks_have_a_row_for_each_family_with_its_worst_named(self):
        rows = [Row("attacks", f"{family} {number}", family) for family in ("rings", "memory") for number in range(5)]
        samples = [each for number, row in enumerate(rows)
                   for each in (sample(2 * number, part="attacks"), sample(2 * number + 1, row, in_percent=100.0 - number, out_p99_us=10.0 + number))]
        table, = hostile_table.tables(samples)
        self.assertEqual(table.rows[0], ["none", "-", "100.00", "-", "2.0 us, 1.00 x", "-", "10.0 us, 1.00 x", "-", "-"])
        self.assertEqual(table.rows[1], ["rings", 5, "96.00", "rings 4", "1.00 x", "rings 0", "1.40 x", "rings 4", "35"])
        marks = {each["what"]: each["verdict"] for each in hostile_table.marks(samples)}
        self.assertEqual(marks, {"without an attack of a guest: frames that arrive": "met", "family rings: frames that arrive (rings 4)": "MISSED", "family rings: p99 over that without (rings 4)": "met",
                                 "family memory: frames that arrive (memory 4)": "MISSED", "family memory: p99 over that without (memory 4)": "met"})

    def test_few_attacks_have_a_row_each(self):
        row = Row("attacks", "loop", "descriptors")
        table, = hostile_table.tables([sample(1, part="attacks"), sample(2, row)])
        self.assertEqual([each[:2] for each in table.rows], [["none", "-"], ["loop", "descriptors"]])

    def test_an_attack_that_ends_the_switch_in_one_round_has_a_row_in_which_none_arrives(self):
        well = [each for number in (3, 5, 7) for each in (sample(number), sample(number + 1, FLOOD))]
        samples = [sample(1), {key: value for key, value in sample(2, FLOOD, **hostile.SWITCH_ENDED).items() if "_us" not in key}, *well]
        written = json.loads(json.dumps(report.finite(samples)))
        self.assertEqual(hostile_table.missing(written, [FLOOD]), [])
        self.assertEqual(hostile_table.tables(written)[0].rows[1][2:5], ["0.00", "none arrives", "none arrives"])
        self.assertEqual([each["verdict"] for each in hostile_table.marks(written)], ["met", "MISSED", "MISSED"])

    def test_a_machine_that_does_other_things_shows_in_the_mark_without_a_flood(self):
        first, *_ = hostile_table.marks([sample(1, in_percent=97.0), sample(2, FLOOD)])
        self.assertEqual((first["what"], first["found"], first["verdict"]), ("without a flood: frames that arrive", 97.0, "MISSED"))

    def test_with_json_the_same_is_printed_that_is_written(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(report, "machine", return_value={}), mock.patch.object(report, "progress"), \
                mock.patch("builtins.print") as printed:
            path = os.path.join(folder, "hostile.json")
            found = record.Record(argparse.Namespace(json=True, output=path))
            found.samples = [sample(1), sample(2, FLOOD)]
            report.finish(found, "bench.system.hostile")
            with open(path, encoding="ascii") as written:
                self.assertEqual(printed.call_args.args[0], written.read())
        self.assertEqual([each["verdict"] for each in json.loads(printed.call_args.args[0])["marks"]], ["met", "met", "met"])

    def test_numbers_that_json_does_not_have_are_null(self):
        self.assertEqual(report.finite({"a": [1.5, float("inf")], "b": {"c": float("inf")}, "d": "x"}), {"a": [1.5, None], "b": {"c": None}, "d": "x"})


class Victim(unittest.TestCase):
    """The victim's and the flood's figures from the generator's result."""

    def figures(self, *floods, **keys):
        way = {"accepted": 900, "refused": 100, "received": 890, "delay_us": {"p50": 1.0, "p99": 9.0, "p99_typical": 5.0}, **keys}
        return hostile.figures({"seconds": 2.0, "streams": [{"name": "in", **way}, {"name": "out", **way}, *floods]})

    def test_frames_that_a_full_ring_refused_were_due(self):
        found = self.figures({"name": "1->2", "accepted": 6_000_000})
        self.assertEqual((found["in_percent"], found["in_p99_us"], found["attack_mpps"]), (89.0, 5.0, 3.0))

    def test_a_victim_that_received_nothing_has_no_times(self):
        found = self.figures(received=0, delay_us={})
        self.assertEqual((found["in_percent"], found["in_p99_us"]), (0.0, None))
        self.assertEqual(hostile_table.time_of(found, "in", "p99_us"), float("inf"))

    def test_a_flood_or_a_victim_that_offered_nothing_was_not_measured(self):
        with self.assertRaisesRegex(RuntimeError, "the flood offered no frame"):
            self.figures({"name": "1->2", "accepted": 0})
        with self.assertRaisesRegex(RuntimeError, "had no time"):
            self.figures(accepted=0, refused=0)


class Floods(unittest.TestCase):
    def test_the_generator_can_play_each_of_them(self):
        for name, flood in hostile_floods.FLOODS.items():
            what = hostile.traffic(1.0, flood)
            self.assertLessEqual(len(what["streams"]), 32, name)
            self.assertTrue(flood.streams() or flood.guest, name)
            for stream in flood.streams():
                self.assertNotEqual(stream["from"], hostile.VICTIM, name)
                self.assertNotEqual(stream["from"], stream.get("to"), name)
                self.assertNotIn(stream["from"] if stream["from"] == hostile.WIRE else None, flood.unread, name)
                self.assertFalse(stream.get("stamp", False), name)
            if flood.guest:
                self.assertIn(flood.guest[1], hostile.PEERS, name)

    def test_the_victim_offers_less_than_it_was_promised(self):
        self.assertLess(hostile.OFFERED_PPS, hostile.PROMISED_PPS)
        self.assertIn("450,000 frames", results_page.TEMPLATES.joinpath("hostile.md.in").read_text())
        self.assertEqual(hostile.OFFERED_PPS, 450_000)


class Round(unittest.TestCase):
    """A visit with a switch that ends, and cores that move, from a list."""

    ROWS = [Row("floods", name, "neighbors") for name in ("first", "second", "third")]

    def visit(self, outcomes):
        """(stretches taken, rows left, the visit's end) with {(row, attempt): cores or "ended" or None}; near without an entry."""
        taken, seen = [], collections.Counter()

        def stretch(_measure, **what):
            name = what["attack"]
            seen[name] += 1
            outcome = outcomes.get((name, seen[name]), "near")
            taken.append(name)
            return outcome and {"cores": "near" if outcome == "ended" else outcome, **({"switch_ended": 1} if outcome == "ended" else {})}
        todo, ended = collections.deque(self.ROWS), None
        of = argparse.Namespace(stretch=stretch)
        try:
            hostile.Visit(of, None, None).measure(todo, collections.Counter())
        except RuntimeError as error:
            ended = str(error)
        return taken, [row.name for row in todo], ended

    def test_each_flood_follows_a_stretch_without_one(self):
        self.assertEqual(self.visit({}), (["none", "first", "none", "second", "none", "third"], [], None))

    def test_a_row_whose_cores_moved_is_taken_again_later(self):
        taken, left, _ = self.visit({("first", 1): None})
        self.assertEqual(([name for name in taken if name != NONE], left), (["first", "second", "third", "first"], []))

    def test_a_row_at_another_distance_than_the_stretch_before_it_gets_one_after_it(self):
        taken, left, _ = self.visit({("first", 1): "far", ("none", 2): "far"})
        self.assertEqual((taken[:4], left), (["none", "first", "none", "second"], []))

    def test_a_row_is_given_up_after_its_tries(self):
        taken, left, _ = self.visit({("second", number): None for number in range(1, 9)})
        self.assertEqual((taken.count("second"), left), (hostile.TRIES, []))

    def test_a_switch_that_ends_leaves_the_other_rows_for_the_next_one(self):
        self.assertEqual(self.visit({("second", 1): "ended"}), (["none", "first", "none", "second"], ["third"], "the switch ended during second"))

    def test_a_round_starts_another_switch_until_no_row_is_left_and_a_bound_of_starts(self):
        starts = []

        def start(todo):
            starts.append(1)
            if len(starts) != 2:
                todo.popleft()
        found = argparse.Namespace(visit=lambda make, measure, **what: measure(None, None))
        with mock.patch.object(hostile.Visit, "measure", autospec=True, side_effect=lambda self, todo, tries: start(todo)):
            hostile.measure_all(found, self.ROWS, 0)
        self.assertEqual(len(starts), len(self.ROWS) + 1)
        with mock.patch.object(hostile.Visit, "measure", autospec=True, side_effect=lambda self, todo, tries: starts.append(1)):
            hostile.measure_all(found, self.ROWS, 0)
        self.assertEqual(len(starts), len(self.ROWS) + 1 + hostile.VISITS_MOST)

    def test_a_further_round_that_would_end_too_late_is_not_begun(self):
        clock = iter([0, 0, 200, 200, 400, 400])
        found = argparse.Namespace(options=argparse.Namespace(rounds=3, minutes=9))
        with mock.patch.object(hostile.time, "monotonic", side_effect=lambda: next(clock)), mock.patch.object(hostile, "measure_all") as measure, \
                mock.patch.object(hostile, "progress"):
            hostile.rounds(found, self.ROWS)
        self.assertEqual((measure.call_count, found.options.rounds), (2, 2))


class Page(unittest.TestCase):
    """docs/results/hostile.md, from its template and the JSON of a run."""

    def published(self, page, **on):
        measured = {"module": "bench.system.hostile", "dropped": [], "options": {"rounds": 3, "seconds": 1.0}, "samples": [sample(1), sample(2, FLOOD)],
                    "machine": {"cpu": "C", "cores": 2, "commit": "abc1234", "changed": False, "time": "T", **on}}
        folder = page.parent
        (folder / "hostile.json").write_text(json.dumps(measured))
        template = results_page.begun()[results_page.FOLDER / "hostile.md"]
        return results_page.fill(page, template, lambda name: results_page.block(folder, name))

    def test_the_page_begins_with_the_first_figures_of_a_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            page = results_page.pathlib.Path(folder) / "hostile.md"
            self.assertEqual(self.published(page, changed=True), {"hostile": None})
            self.assertFalse(page.exists())
            self.published(page)
            text = page.read_text()
            self.published(page, commit=None)
            self.assertEqual(page.read_text(), text)
        self.assertIn("| a flood | neighbors |", re.sub(" +", " ", text))
        self.assertIn("commit abc1234, T; 3 rounds of 1 s.", text)
        self.assertTrue(text.startswith("# A victim beside attacks\n"))

    def test_its_links_lead_somewhere(self):
        text = results_page.TEMPLATES.joinpath("hostile.md.in").read_text()
        links = re.findall(r"\]\(([^)#]+)", text)
        self.assertGreater(len(links), 1)
        for link in links:
            self.assertTrue((results_page.FOLDER / link).exists(), link)


if __name__ == "__main__":
    unittest.main()
