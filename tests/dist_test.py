"""The papers of a relocatable folder: every copied library has its licence, every link leads somewhere."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ['SKYFIX_BINARY']


def papers(folder, libraries):
    return subprocess.run([ROOT / 'scripts/dist_papers', folder], input=''.join(f'{library}\n' for library in libraries),
                          capture_output=True, text=True)


class Dist(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_library_brings_its_licence(self):
        loaded = subprocess.run(['ldd', BINARY], capture_output=True, text=True, check=True).stdout
        # The distribution's alone: wheels lie in the user's cache.
        libraries = re.findall(r'=> (/(?:usr/)?lib/\S+)', loaded)
        self.assertGreater(len(libraries), 10)
        done = papers(self.folder, libraries)
        self.assertEqual(done.returncode, 0, done.stderr)
        texts = {file.stem: file.read_text(errors='replace') for file in (self.folder / 'licenses').iterdir()}
        for name in texts:
            self.assertGreater(len(texts[name]), 200, name)
        for word in ('ceres', 'opencv', 'jpeg', 'exif', 'torch', 'nvidia'):
            self.assertTrue(any(word in name for name in texts), f'{word} is not among {sorted(texts)}')

    def test_a_library_of_no_package_is_an_error(self):
        stray = self.folder / 'libstray.so'
        stray.write_text('')
        done = papers(self.folder / 'out', [str(stray)])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(str(stray), done.stderr)

    def test_links_lead_somewhere(self):
        self.assertEqual(papers(self.folder, []).returncode, 0)
        for name in ('cli', 'formats', 'reasons', 'benchmarks'):
            self.assertTrue((self.folder / f'docs/{name}.md').is_file(), name)
        for target in re.findall(r'\]\(([^)#]+)(?:#[^)]*)?\)', (self.folder / 'README.md').read_text()):
            if '://' not in target:
                self.assertTrue((self.folder / target).exists(), f'README.md links to {target}')


if __name__ == '__main__':
    unittest.main()
