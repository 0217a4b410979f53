"""The documents say what the program does: reason codes, options, links."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ['SKYFIX_BINARY']
REASON = re.compile(r'^SKYFIX_REASON\((\d+), (\w+), "(.*)"\)$', re.M)


def help_of(*command):
    return subprocess.run([BINARY, *command, '--help'], capture_output=True, text=True, check=True).stdout


class Docs(unittest.TestCase):
    def test_reasons_page_is_the_table(self):
        table = REASON.findall((ROOT / 'src/skyfix/base/reasons.def').read_text())
        self.assertGreater(len(table), 20)
        page = (ROOT / 'docs/reasons.md').read_text()
        rows = re.findall(r'^\| (\d+) \| `(\w+)` \| (.*) \|$', page, re.M)
        self.assertEqual(rows, table)
        numbers = [number for number, _, _ in table]
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_options_page_names_every_option(self):
        page = (ROOT / 'docs/cli.md').read_text()
        for command in (['localize'], ['reconstruct'], ['bench', 'stream'], ['bench', 'memory', 'stream'], ['map', 'build'], ['map', 'add'], ['map', 'info'], ['map', 'check'], ['evaluate'],
                        ['simulate'], ['records'], ['export'], ['bench', 'match'], ['bench', 'memory', 'localize'],
                        ['bench', 'localize'], ['plan', 'localize'], ['plan', 'reconstruct'],
                        ['models', 'list'], ['models', 'verify'], ['models', 'fetch'], ['models', 'import']):
            options = set(re.findall(r'(?<![\w-])--[a-z][a-z-]+', help_of(*command))) - {'--help', '--help-all'}
            self.assertTrue(options, command)
            for option in sorted(options):
                self.assertIn(f'`{option}', page, f'{" ".join(command)}: {option} is missing in docs/cli.md')

    def test_links_lead_somewhere(self):
        for page in [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]:
            for target in re.findall(r'\]\(([^)#]+)(?:#[^)]*)?\)', page.read_text()):
                if '://' not in target:
                    self.assertTrue((page.parent / target).exists(), f'{page.name} links to {target}')


if __name__ == '__main__':
    unittest.main()
