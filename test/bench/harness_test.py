#!/usr/bin/env python3
"""harness_test.py - the benches' harness on canned samples: the samples that are compared, those left out, and how verdicts come about."""
import argparse
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

from bench import demo_view  # noqa: E402  (the path above comes first)
from bench.lib import cores, families, figures, micro, published, record, report, results_page, summary  # noqa: E402
from bench.papers import calibrate, claims, htb, memcached_sizes, runs, two_buckets  # noqa: E402
from bench.system import compare, feedback, forwarding, isolation, latency, requests  # noqa: E402


def visit(number, system, cycles, distance="near", **more):
    return {"visit": number, "stretch": number, "round": 0, "system": system, "case": "size", "size": 64, "cores": distance,
            "cycles_per_packet": cycles, "mpps": 10.0, "mean_burst": 32.0, **more}


class Figures(unittest.TestCase):
    def test_a_ratio_is_to_the_mean_of_the_raw_loop_just_before_and_just_after(self):
        samples = [visit(1, "raw", 100), visit(2, "weir", 132), visit(3, "raw", 110)]
        value, doubtful = figures.ratio_to_raw(samples, system="weir")
        self.assertAlmostEqual(value, 132 / 105)
        self.assertFalse(doubtful)

    def test_a_raw_visit_further_away_is_no_neighbor(self):
        samples = [visit(1, "raw", 100), visit(4, "weir", 132)]
        self.assertEqual(figures.ratio_to_raw(samples, system="weir"), (None, False))
        self.assertAlmostEqual(figures.ratio_to_raw(samples, system="weir", reach=3)[0], 1.32)

    def test_a_raw_visit_of_another_size_is_no_neighbor(self):
        samples = [visit(1, "raw", 100, size=1500), visit(2, "weir", 132)]
        self.assertEqual(figures.ratio_to_raw(samples, system="weir"), (None, False))

    def test_a_visit_between_raw_loops_that_disagree_counts_only_where_there_is_no_other(self):
        unsteady = [visit(1, "raw", 100), visit(2, "weir", 200), visit(3, "raw", 150)]
        self.assertEqual(figures.ratio_to_raw(unsteady, system="weir"), (1.6, True))
        steady = [visit(11, "raw", 100), visit(12, "weir", 110), visit(13, "raw", 100)]
        self.assertEqual(figures.ratio_to_raw([*unsteady, *steady], system="weir"), (1.1, False))

    def test_quartiles_of_few_values(self):
        self.assertEqual(figures.quartiles([]), (None, None, None))
        self.assertEqual(figures.quartiles([2]), (2, 2, 2))
        self.assertEqual(figures.quartiles([1, 2, 3, 4, 5]), (2, 3, 4))


class Summary(unittest.TestCase):
    """The README's table of three benches."""

    def measured(self, distance):
        def echo(number, system, p50):
            return {**visit(number, system, 0, distance), "load": latency.FIRST, "p50": p50}

        def beside(system, flood, part):
            return {"system": system, "flood": flood, "cores": distance, "delivered_percent": part, "p50_us": 2.0}
        benches = {"forwarding": {"samples": [visit(1, "raw", 100, distance), visit(2, "weir", 120, distance),
                                              visit(3, "raw", 100, distance)]},
                   "latency": {"samples": [echo(1, "raw", 2.0), echo(2, "weir", 2.2), echo(3, "raw", 2.0)]},
                   "isolation": {"samples": [beside("weir", "64 B flood", 100.0), beside("ovs-policer", "64 B flood", 10.0)]}}
        return {name: {**each, "machine": {"commit": "abc1234"}} for name, each in benches.items()}

    def test_the_table_has_weir_and_the_peer_beside_the_raw_loop(self):
        table = summary.table(self.measured("near"))
        self.assertIn("near cores", table.title)
        self.assertEqual(table.rows[0], ["busy cycles per packet, 64 B", "120 (1.20 x)", "-", "100"])
        self.assertEqual(table.rows[3], ["round trip of a 64-byte frame, p50, us", "2.20 (1.10 x)", "-", "2.00"])
        self.assertEqual(table.rows[-1][1:], ["100.0 %; 2.0 us", "10.0 %; 2.0 us", "-"])

    def test_there_is_no_table_of_far_cores_of_two_commits_or_with_a_bench_missing(self):
        measured = self.measured("near")
        self.assertIsNone(summary.table(self.measured("far")))
        self.assertIsNone(summary.table({**measured, "latency": self.measured("far")["latency"]}))
        self.assertIsNone(summary.table({**measured, "latency": {**measured["latency"], "machine": {"commit": "def5678"}}}))
        del measured["isolation"]
        self.assertIsNone(summary.table(measured))


class Demo(unittest.TestCase):
    """The closing sentence credits the switch with the improvements in the table, and with no others."""

    def closing(self, off, on, alone=(1, 2.4)):
        def phase(name, part, p50):
            return {"phase": name, "vms": [{"name": "victim", "offered_bps": 100, "delivered_bps": 100 * part, "latency_ms": {"p50": p50}}]}
        return demo_view.closing({"phases": [phase("alone", *alone), phase("off", *off), phase("on", *on)]})

    def test_frames_and_round_trip_that_isolation_mends_are_named(self):
        sentence = self.closing(off=(0.62, 24.0), on=(1.0, 2.8))
        self.assertIn("62 % of the victim's frames arrive and a round trip takes 24.0 ms", sentence)
        self.assertIn("with isolation on all of them arrive and it takes 2.8 ms", sentence)
        self.assertTrue(sentence.endswith("brings all of the victim's frames across and shortens its round trip to about what it has alone."))

    def test_a_part_of_the_frames_is_more_and_not_all(self):
        self.assertIn("brings more of the victim's frames across and shortens its round trip.", self.closing((0.62, 24.0), (0.9, 8.0)))

    def test_a_round_trip_that_stays_long_is_not_credited(self):
        sentence = self.closing(off=(0.8, 24.0), on=(1.0, 20.0))
        self.assertTrue(sentence.endswith("brings all of the victim's frames across."))

    def test_without_a_flood_that_hurts_there_is_no_credit(self):
        for off, on in (((1.0, 2.5), (1.0, 2.4)), ((0.9, 20.0), (0.8, 25.0)), ((1.0, None), (1.0, None))):
            self.assertIn("this run does not show that the switch helps the victim", self.closing(off, on))


class Measured(unittest.TestCase):
    """The numbers of verdicts in a page's blocks; verdicts in virtual time are not among them."""

    PAGE = ("Measured: <!-- measured:count -->stale<!-- /measured -->.\n\n| simulated | 1 | 2 | MISSED |\n\n<!-- results:htb -->\n"
            "| what | found | allowed | verdict |\n|---|---:|---:|---:|\n| fast | 6.1 x | >= 5 x |     met |\n| flat | 1.44 x | <= 1.1 x |  MISSED |\n"
            "<!-- /results -->\n\n<!-- measured:open -->\n- stale\n<!-- /measured -->\n")

    def test_rows_of_blocks_are_counted_and_the_missed_ones_listed(self):
        page = results_page.summarized(self.PAGE)
        self.assertIn("Measured: <!-- measured:count -->1 met, 1 MISSED<!-- /measured -->.", page)
        self.assertIn("<!-- measured:open -->\n- **flat**: 1.44 x instead of <= 1.1 x.\n<!-- /measured -->", page)
        self.assertEqual(results_page.summarized(page), page)

    def test_the_pages_state_what_their_blocks_hold(self):
        for page in results_page.PAGES:
            self.assertEqual(page.read_text(), results_page.summarized(page.read_text()), page.name)


class Stale(unittest.TestCase):
    """The published pages and blocks, with their commits and ages."""

    def test_a_page_has_its_blocks_and_a_page_in_virtual_time_its_own_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            root = published.ROOT.__class__(folder)
            block = "<!-- results:{} -->\n{}\n<!-- /results -->\n"
            (root / "eyeq.md").write_text("of commit\n35ac134.\n" + block.format("htb", "| 1 |\n\ncommit f6e269f, 2026") + block.format("idle", ""))
            (root / "other.md").write_text("commit 1234567\n" + block.format("qos", "no word of it"))
            with mock.patch.object(published, "ROOT", root):
                found = [(each.page, each.block, each.commit) for name in ("eyeq.md", "other.md") for each in published.published_in(root / name)]
        self.assertEqual(found, [("eyeq.md", "page", "35ac134"), ("eyeq.md", "htb", "f6e269f"), ("other.md", "qos", None)])

    def test_the_oldest_comes_first_and_a_commit_that_git_does_not_know_is_older(self):
        every = [published.Published("p.md", name, name) for name in ("a1", "b2", "c3")]
        with mock.patch.object(published, "age", side_effect={"a1": 3, "b2": None, "c3": 40}.get):
            text = list(published.lines(published.oldest_first(every)))
        self.assertEqual([line.split() for line in text[1:]], [["unknown", "b2", "p.md:", "b2"], ["40", "c3", "p.md:", "c3"], ["3", "a1", "p.md:", "a1"]])

    def test_run_sh_lists_every_block_with_its_age(self):
        if not published.history_is_known():
            self.skipTest("git has no complete history here")
        done = subprocess.run([os.path.join(ROOT, "bench", "run.sh"), "--stale", "--json"], capture_output=True, text=True, check=True)
        listed = json.loads(done.stdout)
        self.assertEqual(listed["schema"], 1)
        self.assertEqual(len(listed["published"]), len(published.published()))
        ages = [each["commits_old"] for each in listed["published"]]
        self.assertEqual(ages, sorted(ages, reverse=True))


class Distance(unittest.TestCase):
    """The harness with distances from a list."""

    def recorded(self, distances, wanted=cores.DISTANCES):
        found = record.Record(argparse.Namespace(keep=False))
        results = iter(range(100))
        with mock.patch.object(cores, "distance", side_effect=distances), mock.patch.object(cores, "PATIENCE_S", 0), \
                mock.patch.object(record, "progress"):
            found.attempt(lambda: found.stretch(lambda: {"value": next(results)}, wanted, case="a"), system="weir", round=0)
        return found

    def test_a_sample_carries_the_distance_at_which_it_was_taken(self):
        found = self.recorded(["far", "far"])
        self.assertEqual(found.samples, [{"visit": 1, "system": "weir", "round": 0, "stretch": 1, "case": "a", "cores": "far",
                                          "value": 0}])
        self.assertEqual(found.dropped, [])

    def test_a_stretch_in_which_the_cores_moved_is_taken_again_and_listed(self):
        found = self.recorded(["near", "far", "far", "far"])
        self.assertEqual([(sample["cores"], sample["value"]) for sample in found.samples], [("far", 1)])
        self.assertEqual([each["reason"] for each in found.dropped], ["the cores moved from near to far"])
        self.assertEqual(found.dropped[0]["case"], "a")

    def test_a_stretch_is_left_out_when_the_cores_move_in_every_try(self):
        found = self.recorded(["near", "far"] * 3)
        self.assertEqual(found.samples, [])
        self.assertEqual(len(found.dropped), 3)

    def test_the_other_distance_is_taken_when_the_wanted_one_does_not_come(self):
        found = self.recorded(["far"] * 6, wanted=("near",))
        self.assertEqual([(sample["cores"], sample["value"]) for sample in found.samples], [("far", 0)])

    def test_a_failure_ends_a_visit_and_is_listed(self):
        found = record.Record(argparse.Namespace(keep=False))

        def fails():
            raise TimeoutError("no answer")
        with mock.patch.object(record, "progress"):
            found.attempt(fails, system="ovs", round=2)
        self.assertEqual(found.dropped, [{"visit": 1, "system": "ovs", "round": 2, "reason": "no answer"}])


class Report(unittest.TestCase):
    def test_near_and_far_cores_never_share_a_table(self):
        samples = [visit(1, "raw", 80), visit(2, "weir", 84), visit(3, "raw", 80),
                   visit(4, "raw", 160, "far"), visit(5, "weir", 240, "far"), visit(6, "raw", 160, "far")]
        tables = report.tables_of(forwarding, samples)
        self.assertEqual([table.title.split("; ")[-1] for table in tables], ["near cores", "near cores", "far cores", "far cores"])
        self.assertEqual([table.title.split(";")[0] for table in tables[1::2]], ["Against the targets (1 met)", "Against the targets (1 MISSED)"])
        rows = [{row[0]: row[2] for row in table.rows} for table in tables[::2]]
        self.assertEqual(rows, [{"raw": "1.00", "weir": "1.05"}, {"raw": "1.00", "weir": "1.50"}])
        self.assertEqual([(row[0], row[3]) for table in tables[1::2] for row in table.rows],
                         [("weir / raw at 64 B", "met"), ("weir / raw at 64 B", "MISSED")])

    def test_a_verdict_follows_from_what_was_found(self):
        self.assertEqual(report.mark("a", 1.0, 1.0)["verdict"], "met")
        self.assertEqual(report.mark("a", 1.1, 1.0)["verdict"], "MISSED")
        self.assertEqual(report.mark("a", 0.9, 1.0, least=True)["verdict"], "MISSED")
        self.assertEqual(report.mark("a", None, 1.0)["verdict"], "not measured")

    def test_what_was_not_measured_has_no_row(self):
        samples = [visit(1, "raw", 80), visit(2, "weir", 88), visit(3, "raw", 80), visit(4, "raw", 160, "far")]
        self.assertEqual([(mark["what"], mark["cores"]) for mark in report.marks_of(forwarding, samples)], [("weir / raw at 64 B", "near")])

    def test_a_block_of_a_page_is_replaced_and_others_stay(self):
        page = "a\n<!-- results:x -->\nold\n<!-- /results -->\nb\n<!-- results:y -->\nkept\n<!-- /results -->\n"
        self.assertEqual(results_page.filled(page, {"x": "new"}.get), page.replace("old", "new"))
        self.assertEqual(results_page.blocks(page), {"x": "old", "y": "kept"})

    def test_prose_of_a_block_is_wrapped_and_tables_are_not(self):
        long = "word " * 60
        self.assertTrue(all(len(line) <= results_page.COLUMNS for line in results_page.wrapped(long).split("\n")))
        self.assertEqual(results_page.wrapped(f"| {long} |"), f"| {long} |")

    def test_a_block_has_tables_and_origin(self):
        with tempfile.TemporaryDirectory() as folder:
            measured = {"module": "bench.system.forwarding", "dropped": [{}], "options": {"rounds": 3, "seconds": 1.0},
                        "machine": {"cpu": "C", "family": "Intel 6-85", "cores": 2, "kernel": "K", "packages": {"d": "1"}, "commit": "abc", "changed": False, "time": "T"},
                        "samples": [visit(1, "raw", 80), visit(2, "weir", 88), visit(3, "raw", 80)]}
            path = results_page.pathlib.Path(folder)
            (path / "forwarding.json").write_text(json.dumps(measured))
            text = results_page.block(path, "forwarding").text
            self.assertIsNone(results_page.block(path, "idle"))
            for of_no_commit in ({"changed": True}, {"commit": None}):
                (path / "forwarding.json").write_text(json.dumps({**measured, "machine": {**measured["machine"], **of_no_commit}}))
                self.assertIsNone(results_page.block(path, "forwarding"), of_no_commit)
        self.assertIn("; near cores, Intel 6-85:", text)
        self.assertTrue(text.endswith("C (Intel 6-85), 2 cores, Linux K; d 1; commit abc, T; 3 rounds of 1 s, 1 stretches left out."))


class Families(unittest.TestCase):
    def test_a_family_is_vendor_family_and_model(self):
        self.assertEqual(families.of_cpuinfo("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: X"), "Intel 6-143")
        self.assertEqual(families.of_cpuinfo("vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1"), "AMD 25-1")
        self.assertEqual(families.of_cpuinfo("CPU implementer : 0x41\nCPU part : 0xd0c"), "ARM 0x41-0xd0c")
        self.assertIsNone(families.of_cpuinfo("BogoMIPS : 50.00"))

    def test_a_block_keeps_the_newest_figures_of_each_family(self):
        first = families.with_part("old\n\nAMD EPYC, 2 cores; commit abc1234.", "Intel 6-85", "one")
        self.assertEqual(families.parts(first), {"Intel 6-85": "one", "AMD": "old\n\nAMD EPYC, 2 cores; commit abc1234."})
        second = families.with_part(first, "Intel 6-143", "two")
        self.assertEqual(list(families.parts(second)), ["Intel 6-143", "Intel 6-85", "AMD"])
        self.assertEqual(families.newest(second), "two")
        third = families.with_part(second, "Intel 6-85", "three")
        self.assertEqual(list(families.parts(third).items())[:2], [("Intel 6-85", "three"), ("Intel 6-143", "two")])
        self.assertEqual(list(families.parts(families.with_part(third, "AMD 25-1", "four"))), ["AMD 25-1", "Intel 6-85", "Intel 6-143"])

    def test_a_page_of_results_keeps_families_and_the_readme_has_the_newest_alone(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(results_page, "FOLDER", results_page.pathlib.Path(folder) / "results"):
            results_page.FOLDER.mkdir()
            for page in (results_page.FOLDER / "a.md", results_page.FOLDER.parent / "README.md"):
                page.write_text("<!-- results:x -->\n<!-- family:AMD 25-1 -->\nold\n<!-- /results -->\n")
                results_page.fill(page, None, lambda name: results_page.Content("new", "Intel 6-85"))
            self.assertEqual(results_page.blocks((results_page.FOLDER / "a.md").read_text()),
                             {"x": "<!-- family:Intel 6-85 -->\nnew\n\n<!-- family:AMD 25-1 -->\nold"})
            self.assertEqual(results_page.blocks(page.read_text()), {"x": "new"})

    def test_figures_of_two_families_make_no_summary(self):
        measured = {name: {"machine": {"commit": "abc", "family": "Intel 6-85"}, "samples": [visit(1, "raw", 80)]} for name in summary.BENCHES}
        with mock.patch.object(summary, "cycles_rows", return_value=[]), mock.patch.object(summary, "round_trip_row", return_value=["r"]), \
                mock.patch.object(summary, "victim_rows", return_value=[]):
            self.assertTrue(summary.table(measured).title.endswith("; Intel 6-85"))
            measured["latency"]["machine"] = {"commit": "abc", "family": "AMD 25-1"}
            self.assertIsNone(summary.table(measured))


class Verdicts(unittest.TestCase):
    """Pages of papers judge by the figure found and its bound alone."""

    def test_the_verdict_follows_from_figure_bound_and_relation(self):
        cases = [(1.0, 1.0, "<=", "met"), (1.1, 1.0, "<=", "MISSED"), (1.0, 1.0, ">=", "met"), (0.9, 1.0, ">=", "MISSED"), (1.0, 1.0, "<", "MISSED"),
                 (0.9, 1.0, "<", "met"), ("P1, P2", "P1, P2", "is", "met"), ("P2, P1", "P1, P2", "is", "MISSED"), (float("inf"), 5, "<=", "MISSED")]
        for found, allowed, relation, wanted in cases:
            self.assertEqual(report.verdict(found, allowed, relation), wanted, (found, allowed, relation))
            self.assertEqual(report.verdict(None, allowed, relation), "not measured")

    def test_a_claim_turns_when_its_figure_does(self):
        def of(found):
            return claims.Claim("Fig. 6", "TCP after", found, 1, unit=" ms", why="A reason.")
        self.assertIn("| Fig. 6 | TCP after | 0.9 ms | at most 1.0 ms | met |", claims.table([of(0.9)]))
        self.assertIn("| Fig. 6 | TCP after | never | at most 1.0 ms | MISSED |", claims.table([of(float("inf"))]))
        self.assertIn("| - | at most 1.0 ms | not measured |", claims.table([of(None)]))
        self.assertEqual(claims.missed([of(1.1), of(0.9)]), "- **Fig. 6, TCP after**: 1.1 ms instead of at most 1.0 ms. A reason.")
        self.assertEqual(claims.missed([of(0.9), of(None)]), "- Of the claims above: nothing.")
        self.assertEqual(claims.counted([of(1.1), of(0.9), of(1.2)]), "2 MISSED, 1 met")

    def test_no_generator_of_a_page_has_a_typed_verdict(self):
        typed = re.compile(r"\b(met|missed|reached|unreached|holds?)\b", re.IGNORECASE)
        papers = os.path.join(ROOT, "bench", "papers")
        names = [name for name in sorted(os.listdir(papers)) if name.endswith(".py")]
        self.assertGreater(len(names), 15)
        for name in names:
            with open(os.path.join(papers, name), encoding="utf-8") as source:
                text = source.read()
            if name == "claims.py":  # the function that picks the claims to list, and the verdict that it asks for
                text = text.replace("def missed(claims):", "").replace('claim.verdict == "MISSED"', "").replace("whose verdict is MISSED", "")
            if name == "runs.py":
                text = text.replace('"missed": claims.missed(judged)', "")
            self.assertEqual([line for line in text.split("\n") if typed.search(line)], [], name)

    def test_every_page_of_a_paper_ends_with_what_is_not_reproduced(self):
        for name in ("eyeq", "softbw", "srp", "pulsar"):
            with open(os.path.join(ROOT, "bench", "papers", f"{name}.md.in"), encoding="utf-8") as template:
                text = template.read()
            for mark in ("{{provenance}}", "{{verdicts}}", "{{claims}}", "{{missed}}"):
                self.assertEqual(text.count(mark), 1, (name, mark))
            self.assertGreater(text.index("## Not reproduced"), text.rindex("\n## ", 0, text.index("## Not reproduced")))
            self.assertNotIn("\n## ", text[text.index("## Not reproduced"):])
        for name in ("pulsar-dataplane", "calibrate", "flow-setup", "allocation"):
            with open(os.path.join(ROOT, "docs", "results", f"{name}.md"), encoding="utf-8") as page:
                text = page.read()
            self.assertNotIn("\n## ", text[text.index("## Not reproduced"):], name)

    def test_a_page_names_command_commit_date_and_seeds(self):
        options = argparse.Namespace(sim=runs.ROOT / "build" / "bench" / "sim" / "weir-sim")
        results = {"a": {"seed": 1, "events": 1_000_000}, "b": {"seed": 5, "events": 2_000_000}}
        for changed, words in ((False, ""), (True, " with changes")):
            with mock.patch.object(runs, "last_change", return_value=("abc1234", changed)):
                text = runs.provenance("eyeq", options, results)
            self.assertRegex(text, rf"`bench/run.sh eyeq`, \d{{4}}-\d\d-\d\d; the simulated code is that of commit abc1234{words}; seeds 1 to 5;\n2 runs .* 3 m")
        with mock.patch.object(runs, "last_change", return_value=(None, False)), self.assertRaisesRegex(SystemExit, "run the bench in a clone"):
            runs.provenance("eyeq", options, results)

    def test_a_block_that_was_measured_nowhere_ends_the_bench_with_the_command_that_measures_it(self):
        with tempfile.TemporaryDirectory() as folder:
            options = argparse.Namespace(work=runs.pathlib.Path(folder) / "papers" / "eyeq")
            with self.assertRaisesRegex(SystemExit, "bench/run.sh no-such first"):
                runs.measured(options, "no_such")

    def test_a_template_names_nothing_that_is_not_computed(self):
        with self.assertRaisesRegex(KeyError, "b"):
            runs.render("{{a}} {{b}}", {"a": "1"})

    def test_a_refused_calibration_publishes_its_objections_and_no_cost(self):
        text = "\n".join(calibrate.section("memcached", {"objections": [{"path": "read 64B", "found": "noise of 33.6%", "allowed": "15% or less"}]}))
        self.assertIn("**Verdict: refused**", text)
        self.assertIn("- read 64B: noise of 33.6% (allowed: 15% or less)", text)
        self.assertNotIn("|", text)

    def test_fig_15_shows_near_and_far_cores_side_by_side_and_judges_them_apart(self):
        def row(operation, ratio):
            return {"size": 512, "operation": operation, "ratio": ratio, "turns": 3, "within": [0.9, 1.1],
                    **{f"{key}_{side}": 1.0 for key in ("per_second", "busy", "cycles_per_packet") for side in ("on", "off")}}
        text = "\n".join(memcached_sizes.report({"near": [row("get", 1.0), row("set", 0.99)], "far": [row("get", 0.97), row("set", 0.98)]}))
        self.assertIn("| 512 B | 1.000 | 0.970 | 0.990 | 0.980 |", text)
        self.assertIn("| Fig. 15 | near cores: least ratio of 2 rows | 0.990 | at least 0.980 | met |", text)
        self.assertIn("| Fig. 15 | far cores: rows below 0.98 | 1 | at most 0 | MISSED |", text)

    def test_limiters_are_flat_in_both_directions_and_at_either_rate(self):
        samples = [{"count": count, "none": 1, "htb": 600, "over": 599, "limiters": together, "limiters_each": each, "cores": "near"}
                   for count, together, each in ((1, 50, 98), (100, 69, 68), (1000, 70, 75), (10000, 84, 83))]
        self.assertEqual([mark["verdict"] for mark in htb.marks(samples)], ["met", "MISSED", "MISSED"])
        self.assertAlmostEqual(htb.marks(samples)[1]["found"], 98 / 68)

    def test_two_buckets_exceed_neither_resource(self):
        verdicts = [claim.verdict for claim in two_buckets.judged({"multi": [10.0, 1.38], "single": [10.0, 10.0]})]
        self.assertEqual(verdicts, ["met", "met"])
        self.assertEqual(two_buckets.judged({"multi": [10.0, 10.0], "single": [10.0, 1.0]})[0].verdict, "MISSED")


class Benches(unittest.TestCase):
    def test_isolation_is_judged_by_the_one_way_time_at_the_wire(self):
        def sample(flood, p50):
            return {"system": "weir", "flood": flood, "delivered_percent": 100.0, "p50_us": p50, "p99_us": p50, "neighbor_mbps": 1.0}
        verdicts = {mark["what"]: mark["verdict"] for mark in isolation.marks([sample("1500 B flood", 3932.2), sample("64 B flood", 2.2)])}
        self.assertEqual(verdicts["one way p50 beside 1500 B flood"], "MISSED")
        self.assertEqual(verdicts["one way p50 beside 64 B flood"], "met")

    def test_flows_are_compared_with_the_plain_stretches_beside_them(self):
        def stretch(number, case, cycles):
            return visit(1, "weir", cycles, case=case, stretch=number)
        samples = [stretch(1, "plain", 100), stretch(2, "flows", 105), stretch(3, "plain", 110), stretch(4, "plain", 900)]
        self.assertEqual(forwarding.own_ratio(samples, "weir", "flows"), (1.0, False))

    def test_what_feedback_adds_is_the_difference_within_a_round(self):
        def sample(place, system, number, ns):
            return {"visit": place, "system": system, "round": number, "case": "wire", "size": 64, "senders": 1, "ns_per_packet": ns,
                    "cycles_per_packet": ns, "mpps": 1.0, "feedback_pps": 0}
        samples = [sample(1, "off", 0, 50), sample(2, "on", 0, 53), sample(6, "off", 1, 90), sample(7, "on", 1, 99)]
        self.assertEqual(feedback.differences(samples, "on", 64, 1), [3, 9])

    def test_each_load_of_latency_has_its_table_and_ratio(self):
        def sample(place, system, load, p50):
            return {"visit": place, "round": 0, "system": system, "load": load, "p50": p50, "p90": p50, "p99": p50, "lost": 0}
        single, burst = list(latency.LOADS)[0], list(latency.LOADS)[-1]
        samples = [sample(1, "raw", single, 2.0), sample(1, "raw", burst, 4.0), sample(2, "weir", single, 2.2), sample(2, "weir", burst, 8.0)]
        self.assertEqual([[row[4] for row in table.rows] for table in latency.tables(samples)], [["1.00", "1.10"], ["1.00", "2.00"]])
        self.assertEqual(latency.marks(samples)[0]["verdict"], "met")

    def test_turns_in_which_the_worker_was_not_saturated_do_not_count(self):
        def pair(on, off, busy):
            side = {"cycles_per_request": 1.0, "busy_share": busy, "load_idle": 0.0}
            return {"size": 512, "operation": "get", "on": {**side, "per_second": on}, "off": {**side, "per_second": off}}
        row, = requests.summary([pair(99, 100, 0.95), pair(10, 100, 0.5)])
        self.assertEqual((row["pairs"], row["throughput_ratio"]), (1, 0.99))


class Compare(unittest.TestCase):
    @staticmethod
    def side(number, side, cost, case="two VMs, 64 B"):
        return {"bench": "forwarding", "round": number, "side": side, "case": case, "cost": cost, "cores": "near"}

    def samples(self, ratios):
        return [self.side(number, side, cost) for number, ratio in enumerate(ratios) for side, cost in (("base", 100.0), ("change", 100.0 * ratio))]

    def test_ratios_are_within_a_round_and_both_sides_are_needed(self):
        samples = [self.side(0, "base", 100.0), self.side(0, "change", 101.0), self.side(1, "base", 500.0), self.side(2, "change", 10.0)]
        rounds = compare.costs_of(samples)["forwarding"]["two VMs, 64 B"]
        self.assertEqual(compare.ratios_of(rounds), [1.01])

    def test_verdicts(self):
        self.assertEqual(compare.marks(self.samples([1.0, 1.01, 1.3]))[0]["verdict"], "met")
        self.assertEqual(compare.marks(self.samples([1.04, 1.05, 1.06, 1.05, 1.05]))[0]["verdict"], "MISSED")
        self.assertEqual(compare.marks(self.samples([1.04, 1.05, 1.06]))[0]["verdict"], "unclear")
        self.assertEqual(compare.marks(self.samples([0.9, 1.03, 1.2]))[0]["verdict"], "unclear")
        self.assertEqual(compare.marks([self.side(0, "base", 1.0)])[0]["verdict"], "not measured")

    def test_a_micro_bench_measures_both_sides_in_one_stretch(self):
        samples = [{"bench": "drf", "round": number, "cores": "far", "base": {"drf": 2.0, "gone": 1.0}, "change": {"drf": 2.0 * ratio, "new": 1.0}}
                   for number, ratio in enumerate((1.0, 1.1, 1.2))]
        table, = compare.tables(samples)
        rows = {row[0]: row[1:] for row in table.rows}
        self.assertEqual(rows["drf"], ["2.00", "2.20", "1.100", "1.050", "1.150", "3"])
        self.assertEqual(rows["gone"], ["1.00", "-", "-", "-", "-", "0"])
        self.assertEqual({mark["what"]: mark["verdict"] for mark in compare.marks(samples)},
                         {"drf": "unclear", "gone": "not measured", "new": "not measured"})

    def test_a_micro_bench_is_linked_with_its_libraries_in_other_orders(self):
        command = "g++ -o bench/micro/qos-bench qos.o -Wl,--start-group a.a b.a c.a d.a -Wl,--as-needed x.so -Wl,--end-group"
        orders = [re.search(r"group (.*?) -Wl", micro.shuffled(command, "qos-bench", "/tmp/out", seed)).group(1) for seed in range(8)]
        self.assertEqual({tuple(sorted(order.split())) for order in orders}, {("a.a", "b.a", "c.a", "d.a")})
        self.assertGreater(len(set(orders)), 4)
        self.assertIn("g++ -o /tmp/out qos.o", micro.shuffled(command, "qos-bench", "/tmp/out", 1))
        with self.assertRaises(RuntimeError):
            micro.shuffled("g++ -o bench/micro/qos-bench qos.o", "qos-bench", "/tmp/out", 1)

    def test_near_and_far_pairs_are_apart(self):
        samples = [*self.samples([1.0]), *({**sample, "cores": "far"} for sample in self.samples([1.5]))]
        self.assertEqual([mark["verdict"] for mark in report.marks_of(compare, samples)], ["met", "unclear"])

    def test_the_base_comes_first_in_even_rounds(self):
        self.assertEqual([compare.in_turn(number)[0] for number in range(3)], ["base", "change", "base"])


class Names(unittest.TestCase):
    def test_every_name_of_run_sh_is_a_module_and_has_a_line_in_the_list(self):
        with open(os.path.join(ROOT, "bench", "run.sh"), encoding="utf-8") as script:
            rows = re.findall(r'^ +bench ([\w-]+) +"[^"]+" +(?:root|plot|-) +([\w.-]+) ', script.read(), re.MULTILINE)
        listed = subprocess.run([os.path.join(ROOT, "bench", "run.sh")], capture_output=True, text=True, check=True).stdout
        self.assertGreater(len(rows), 20)
        for name, module in rows:
            self.assertTrue(os.path.exists(os.path.join(ROOT, "bench", *module.split(".")) + ".py"), module)
            self.assertRegex(listed, rf"(?m)^{name} +\d+ (s|min) +\w")


if __name__ == "__main__":
    unittest.main()
