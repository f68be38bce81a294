"""installed_test.py - the programs find their cost tables wherever prefix and build folder are."""

import json
import os
import shutil
import subprocess

from case import Case
from daemon import BUILD, ROOT


class InstalledTest(Case):
    def setUp(self):
        super().setUp()
        self.config = self.path("switch.jsonc")
        with open(self.config, "w") as stream:
            json.dump({"appliances": [{"name": "disk", "address": "10.0.0.5", "port": 10809, "protocol": "nbd",
                                       "cost": "ssd_file_store"}]}, stream)

    def check(self, program, **environment):
        """Exit status and output of `weir-switch --check`, in a folder without any of our files."""
        done = subprocess.run([program, "--config", self.config, "--check"], cwd=self.folder, text=True, check=False,
                              env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

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
        # Its own tables, not those of the source tree.
        os.remove(os.path.join(prefix, "share", "weir", "costs", "ssd_file_store.json"))
        status, output = self.check(program)
        self.assertEqual(status, 2)
        self.assertIn(os.path.join(prefix, "share", "weir", "costs", "ssd_file_store.json"), output)

    def test_a_program_outside_of_the_source_tree_finds_the_tables_of_its_sources(self):
        folder = self.path("elsewhere/vswitch")
        os.makedirs(folder)
        program = shutil.copy(os.path.join(BUILD, "vswitch", "weir-switch"), folder)
        self.assertEqual(self.check(program), (0, f"{self.config}: valid\n"))

    def test_the_environment_names_another_folder(self):
        program = os.path.join(BUILD, "vswitch", "weir-switch")
        status, output = self.check(program, WEIR_DATA_DIR=self.folder)
        self.assertEqual(status, 2)
        self.assertIn(self.path("costs/ssd_file_store.json"), output)
        shutil.copytree(os.path.join(ROOT, "configs", "costs"), self.path("costs"))
        self.assertEqual(self.check(program, WEIR_DATA_DIR=self.folder)[0], 0)
