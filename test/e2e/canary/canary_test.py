"""canary_test.py - a test that fails on purpose: test/run.sh takes it for a failure of its suite when it passes."""

import unittest


class CanaryTest(unittest.TestCase):
    POLLS = False

    def test_canary_that_fails(self):
        self.assertEqual(1, 2)
