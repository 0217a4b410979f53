"""Holds the order of the rooms: reads the include lines, fails on an edge the order does not allow.

The order is written in docs/architecture.md; it is repeated here as data, and a room that is not
listed fails too.
"""
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent / 'src' / 'skyfix'

# Which rooms a room's sources may include, besides itself.
BELOW = {
    'base': [],
    'geo': ['base'],
    'image': ['base', 'geo'],
    'frames': ['base', 'geo', 'image'],
    'map': ['base', 'geo'],
    'simulate': ['base', 'geo', 'image', 'map'],
    'memory': ['base'],
    'nn': ['base', 'memory'],
    'models': ['base', 'memory', 'nn'],
    'stream': ['base', 'geo', 'image', 'frames', 'memory', 'nn', 'models'],
    'features': ['base', 'geo', 'image', 'map', 'memory', 'nn', 'models'],
    'match': ['base', 'memory'],
    'solve': ['base', 'geo'],
    'retrieval': ['base', 'geo', 'image', 'map', 'memory', 'nn', 'models', 'features'],
    'localize': ['base', 'geo', 'image', 'frames', 'map', 'memory', 'nn', 'models', 'features', 'retrieval',
                 'match', 'solve'],
    'report': ['base', 'geo', 'image', 'frames', 'map', 'memory', 'nn', 'models', 'stream', 'features',
               'retrieval', 'match', 'solve', 'localize'],
    'cli': ['base', 'geo', 'image', 'frames', 'map', 'memory', 'nn', 'models', 'stream', 'simulate',
            'features', 'retrieval', 'match', 'solve', 'localize', 'report'],
}
# Tests may also stand on the synthetic world.
TEST_EXTRA = {room: ['simulate'] for room in
              ('features', 'match', 'solve', 'retrieval', 'localize', 'report')}
INCLUDE = re.compile(r'^\s*#\s*include\s+"skyfix/([a-z_]+)/', re.M)
# Heavy third-party headers stay in the rooms that need them.
THIRD_PARTY = {
    'opencv2/': {'image', 'features'},
    'ceres/': {'solve'},
    'faiss/': {'retrieval'},
    'libav': {'frames'},
    'libsw': {'frames'},
    'GeographicLib/': {'geo'},
    'libexif/': {'image'},
    'exempi/': {'image'},
    'CLI/': {'cli'},
    # Slow to compile: a change elsewhere must not wait for them.
    'ATen/': {'match', 'memory', 'models', 'nn', 'stream'},
    'c10/': {'match', 'memory', 'models', 'nn', 'stream'},
    'torch/': {'match', 'memory', 'models', 'nn', 'stream'},
}


def sources():
    return sorted(p for p in SOURCE.rglob('*') if p.suffix in ('.h', '.cc', '.def'))


class Rooms(unittest.TestCase):
    def test_every_folder_is_a_known_room(self):
        folders = {p.name for p in SOURCE.iterdir() if p.is_dir()}
        self.assertEqual(folders, set(BELOW))

    def test_includes_go_down(self):
        faults = []
        edges = 0
        for path in sources():
            room = path.relative_to(SOURCE).parts[0]
            is_test = path.stem.endswith('_fuzz') or 'test' in path.stem
            allowed = set(BELOW[room]) | {room}
            if is_test:
                allowed |= set(TEST_EXTRA.get(room, []))
            for other in INCLUDE.findall(path.read_text()):
                edges += 1
                if other not in allowed:
                    faults.append(f'{path.relative_to(SOURCE)} includes {other}/')
        self.assertEqual(faults, [])
        self.assertGreater(edges, 50)

    def test_the_order_has_no_cycle(self):
        seen = set()
        while len(seen) < len(BELOW):
            ready = [room for room in BELOW if room not in seen and set(BELOW[room]) <= seen]
            self.assertTrue(ready, f'cycle among {set(BELOW) - seen}')
            seen |= set(ready)

    def test_third_party_headers_stay_in_their_rooms(self):
        faults = []
        for path in sources():
            room = path.relative_to(SOURCE).parts[0]
            text = path.read_text()
            for prefix, rooms in THIRD_PARTY.items():
                if re.search(r'#\s*include\s+[<"]' + re.escape(prefix), text) and room not in rooms:
                    faults.append(f'{path.relative_to(SOURCE)} includes {prefix}')
        self.assertEqual(faults, [])

    def test_libraries_neither_print_nor_exit(self):
        faults = []
        banned = re.compile(r'\bstd::cout\b|(?<!f)(?<!sn)\bprintf\s*\(|\bstd::exit\s*\(|[^_\w]exit\s*\(|\babort\s*\(')
        for path in sources():
            room = path.relative_to(SOURCE).parts[0]
            if room == 'cli' or path.stem.endswith('_fuzz') or 'test' in path.stem:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split('//')[0]
                if banned.search(code):
                    faults.append(f'{path.relative_to(SOURCE)}:{number}: {line.strip()}')
        self.assertEqual(faults, [])

    def test_every_source_has_a_test_beside_it(self):
        listed = {line.split()[0] for line in
                  (pathlib.Path(__file__).parent / 'untested.txt').read_text().splitlines()
                  if line and not line.startswith('#')}
        missing = []
        for path in sources():
            name = str(path.relative_to(SOURCE))
            if path.suffix != '.cc' or path.stem.endswith(('_test', '_fuzz', '_cuda')):
                continue
            if not path.with_name(path.stem + '_test.cc').exists() and name not in listed:
                missing.append(name)
        self.assertEqual(missing, [], 'write NAME_test.cc, or list the file in tests/untested.txt with a reason')
        gone = [name for name in listed if not (SOURCE / name).exists()]
        self.assertEqual(gone, [], 'tests/untested.txt lists files that are gone')


if __name__ == '__main__':
    unittest.main()
