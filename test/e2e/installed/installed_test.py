"""installed_test.py - the programs find their cost tables wherever prefix and build folder are."""

import json
import os
import shutil
import subprocess

from case import Case
from daemon import BUILD, ROOT


SCENARIO = os.path.join(ROOT, "bench", "scenarios", "pulsar", "fig3.jsonc")  # a service with a cost table that comes with Weir


class InstalledTest(Case):
    POLLS = False

    def setUp(self):
        super().setUp()
        self.config = self.path("switch.jsonc")
        with open(self.config, "w") as stream:
            json.dump({"appliances": [{"name": "disk", "address": "10.0.0.5", "port": 10809, "protocol": "nbd",
                                       "cost": "ssd_file_store"}]}, stream)

    def run_program(self, program, *arguments, cwd=None, **environment):
        """Exit status and output; by default in a folder without any file of Weir."""
        done = subprocess.run([program, *arguments], cwd=cwd or self.folder, text=True, check=False,
                              env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def check(self, program, **where):
        """Exit status and output of `weir-switch --check`."""
        return self.run_program(program, "--config", self.config, "--check", **where)

    def install(self):
        """The prefix of a staged installation, moved to another place. Nothing is built."""
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.path("stage")], check=True)
        options = json.loads(subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], capture_output=True, text=True,
                                            check=True).stdout)
        prefix = next(option["value"] for option in options if option["name"] == "prefix")
        moved = self.path("moved")
        shutil.move(self.path("stage") + prefix, moved)
        return moved

    def test_a_copied_prefix_has_all_that_its_programs_need(self):
        prefix = self.install()
        program = os.path.join(prefix, "bin", "weir-switch")
        self.assertEqual(self.check(program), (0, f"{self.config}: valid\n"))
        for name in os.listdir(os.path.join(ROOT, "configs")):
            if name.endswith(".jsonc") or name in ("costs", "schema"):
                self.assertTrue(os.path.exists(os.path.join(prefix, "share", "weir", name)), name)
        for unit in ("weir-switch", "weir-ctrl"):
            with open(os.path.join(prefix, "lib", "systemd", "system", f"{unit}.service")) as stream:
                self.assertRegex(stream.read(), rf"ExecStart=/.*/bin/{unit} --config ")
        for folder, user in (("sysusers.d", "g weir-vm -"), ("tmpfiles.d", "d /run/weir/vm 3770 weir weir-vm")):
            with open(os.path.join(prefix, "lib", folder, "weir.conf")) as stream:
                self.assertIn(user, stream.read())
        # The other programs, with the files of the prefix.
        share = os.path.join(prefix, "share", "weir")
        for program_of_prefix, *arguments in (["weir-sim", SCENARIO, "--check"],
                                              ["weir-ctrl", "--config", os.path.join(share, "cluster.jsonc"), "--check"],
                                              ["weirctl", "plan", os.path.join(share, "cluster.jsonc")],
                                              ["weirctl", "qemu-args", "vm1", "--config", os.path.join(share, "minimal.jsonc")]):
            status, output = self.run_program(os.path.join(prefix, "bin", program_of_prefix), *arguments)
            self.assertEqual(status, 0, output)
        for name in os.listdir(os.path.join(share, "schema")):
            with open(os.path.join(share, "schema", name)) as stream:
                self.assertIn("properties" if name.endswith(".schema.json") else "paths", json.load(stream), name)
        # Its own tables, not those of the source tree.
        os.remove(os.path.join(prefix, "share", "weir", "costs", "ssd_file_store.json"))
        status, output = self.check(program)
        self.assertEqual(status, 2)
        self.assertIn(os.path.join(prefix, "share", "weir", "costs", "ssd_file_store.json"), output)
        os.remove(os.path.join(share, "costs", "key_value_store.json"))
        status, output = self.run_program(os.path.join(prefix, "bin", "weir-sim"), SCENARIO, "--check")
        self.assertEqual(status, 2)
        self.assertIn(os.path.join(share, "costs", "key_value_store.json"), output)

    def test_a_program_outside_of_the_source_tree_finds_the_tables_of_its_sources(self):
        for folder in ("vswitch", "bench/sim"):
            os.makedirs(self.path(os.path.join("elsewhere", folder)))
        program = shutil.copy(os.path.join(BUILD, "vswitch", "weir-switch"), self.path("elsewhere/vswitch"))
        self.assertEqual(self.check(program), (0, f"{self.config}: valid\n"))
        simulator = shutil.copy(os.path.join(BUILD, "bench", "sim", "weir-sim"), self.path("elsewhere/bench/sim"))
        self.assertEqual(self.run_program(simulator, SCENARIO, "--check"), (0, f"{SCENARIO}: valid\n"))

    def test_the_current_folder_does_not_matter(self):
        for cwd in (ROOT, BUILD, "/", self.folder):
            self.assertEqual(self.check(os.path.join(BUILD, "vswitch", "weir-switch"), cwd=cwd), (0, f"{self.config}: valid\n"))
            self.assertEqual(self.run_program(os.path.join(BUILD, "bench", "sim", "weir-sim"), SCENARIO, "--check", cwd=cwd),
                             (0, f"{SCENARIO}: valid\n"))

    def test_the_environment_names_another_folder(self):
        program = os.path.join(BUILD, "vswitch", "weir-switch")
        status, output = self.check(program, WEIR_DATA_DIR=self.folder)
        self.assertEqual(status, 2)
        self.assertIn(self.path("costs/ssd_file_store.json"), output)
        shutil.copytree(os.path.join(ROOT, "configs", "costs"), self.path("costs"))
        self.assertEqual(self.check(program, WEIR_DATA_DIR=self.folder)[0], 0)
        os.remove(self.path("costs/key_value_store.json"))
        status, output = self.run_program(os.path.join(BUILD, "bench", "sim", "weir-sim"), SCENARIO, "--check", WEIR_DATA_DIR=self.folder)
        self.assertEqual(status, 2)
        self.assertIn(self.path("costs/key_value_store.json"), output)
