"""Other people's readers on our files: laspy on LAS, and a cloud.ply read by its header alone.

The run folder is written here, by what docs/formats.md says of it.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYFIX = os.environ['SKYFIX_BINARY']
sys.path.insert(0, subprocess.check_output([ROOT / 'scripts/test_tools', 'path'], text=True).strip())
try:
    import laspy
    import numpy as np
except ImportError:
    if os.environ.get('CI') == 'true':
        raise
    laspy = None

EMPTY_HASH = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'  # of {}
OFFSET = (10.0, -3.0, 0.0)
POINT = np.dtype([('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('red', 'u1'), ('green', 'u1'), ('blue', 'u1'),
                  ('confidence', '<f4'), ('frame', '<u4')]) if laspy else None


def cloud_of(points):
    head = ('ply\nformat binary_little_endian 1.0\ncomment skyfix-cloud-1\ncomment units arbitrary\n'
            "comment world: the first camera's frame as the network saw it, x right, y down, z forward\n"
            'comment offset 10 -3 0\ncomment voxel 0.02\ncomment confidence_threshold 1.5\n')
    tail = (f'element vertex {len(points)}\nproperty float x\nproperty float y\nproperty float z\n'
            'property uchar red\nproperty uchar green\nproperty uchar blue\nproperty float confidence\n'
            'property uint frame\nend_header\n')
    filler = 'comment ' + '.' * (1024 - len(head) - len(tail) - 9) + '\n'
    return (head + filler + tail).encode() + points.tobytes()


def record(index):
    pinhole = {'model': 'PINHOLE', 'width': 640, 'height': 480, 'params': [500, 500, 320, 240]}
    return {'schema': 'skyfix-stream-record-1', 'name': f'{index:04}.png', 'index': index,
            'time_ns': index * 500_000_000, 'status': 'ok', 'reason': None, 'units': 'arbitrary',
            'cam_from_world': {'q_wxyz': [1, 0, 0, 0], 't': [-10 + 0.1 * index, 3, 5]}, 'camera': pinhole,
            'network_camera': pinhole,
            'network': {'width': 640, 'height': 480, 'scale': [1, 1], 'offset_px': [0, 0]},
            'confidence': {'median': 2, 'threshold': 1.5, 'share_above': 0.5}, 'role': 'scale', 'window': 0,
            'position': index - 1, 'keys_seen': 1}


def run_folder(folder, points):
    folder.mkdir()
    (folder / 'run.json').write_text(json.dumps({
        'schema': 'skyfix-stream-run-1', 'state': 'finished', 'configuration': {},
        'configuration_sha256': EMPTY_HASH, 'about': {'units': 'arbitrary'}}))
    (folder / 'records.jsonl').write_text(''.join(json.dumps(record(i)) + '\n' for i in range(1, 4)))
    (folder / 'cloud.ply').write_bytes(cloud_of(points))


@unittest.skipIf(laspy is None, 'SKIPPED: scripts/test_tools install')
class Exports(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        random = np.random.default_rng(1)
        self.points = np.zeros(5000, POINT)
        for axis, size in zip('xyz', (40, 2, 9)):
            self.points[axis] = random.normal(0, size, 5000)
        self.points['confidence'] = random.uniform(1.5, 4, 5000)
        self.points['frame'] = np.sort(random.integers(1, 4, 5000))
        for colour in ('red', 'green', 'blue'):
            self.points[colour] = random.integers(0, 256, 5000)
        run_folder(self.folder / 'run', self.points)

    def export(self, form, *more):
        out = self.folder / f'out.{form}'
        done = subprocess.run([SKYFIX, 'export', self.folder / 'run', '--format', form, '--out', out, *more],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('arbitrary', done.stderr)
        return out

    def test_laspy_reads_our_las(self):
        las = laspy.read(self.export('las'))
        self.assertEqual((las.header.version.major, las.header.version.minor), (1, 4))
        self.assertEqual(las.header.point_format.id, 7)
        self.assertEqual(len(las.points), 5000)
        self.assertIn('ARBITRARY', str(las.header.system_identifier).upper())
        self.assertIsNone(las.header.parse_crs())
        texts = [bytes(v.record_data_bytes()) for v in las.header.vlrs if v.record_id == 3]
        self.assertTrue(any(b'ARBITRARY' in text for text in texts))
        scale = las.header.scales[0]
        for axis, offset in zip('xyz', OFFSET):
            wanted = self.points[axis].astype(float) + offset
            self.assertLess(np.abs(np.array(getattr(las, axis)) - wanted).max(), scale)
        self.assertLess(scale, 0.02 / 50)
        np.testing.assert_array_equal(np.array(las.red), self.points['red'].astype(int) * 257)
        np.testing.assert_array_equal(np.array(las.blue), self.points['blue'].astype(int) * 257)
        np.testing.assert_array_equal(np.array(las.confidence), self.points['confidence'])
        np.testing.assert_array_equal(np.array(las.frame), self.points['frame'])
        np.testing.assert_array_equal(np.array(las.gps_time), self.points['frame'] * 0.5)
        for low, high, axis in zip(las.header.mins, las.header.maxs, 'xyz'):
            self.assertAlmostEqual(low, np.array(getattr(las, axis)).min(), delta=scale)
            self.assertAlmostEqual(high, np.array(getattr(las, axis)).max(), delta=scale)

    def test_ply_is_what_its_header_says(self):
        data = self.export('ply').read_bytes()
        head, body = data.split(b'end_header\n', 1)
        self.assertIn(b'element vertex 5000\n', head)
        np.testing.assert_array_equal(np.frombuffer(body, POINT), self.points)

    def test_colmap_and_csv(self):
        folder = self.export('colmap', '--colmap-points', '300', '--colmap-format', 'text')
        images = [line for line in (folder / 'images.txt').read_text().splitlines() if not line.startswith('#')]
        self.assertEqual(len(images), 6)
        points = [line for line in (folder / 'points3D.txt').read_text().splitlines() if not line.startswith('#')]
        self.assertTrue(20 < len(points) <= 300, len(points))
        self.assertEqual(len(self.export('csv').read_text().splitlines()), 4)

    def test_formats_of_the_other_job_are_refused_in_words(self):
        done = subprocess.run([SKYFIX, 'export', self.folder / 'run', '--format', 'geojson'],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('ply, las, tum, colmap, csv', done.stderr)
        done = subprocess.run([SKYFIX, 'export', self.folder / 'run', '--format', 'colmap'],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('folder', done.stderr)

    def test_records_are_printed(self):
        done = subprocess.run([SKYFIX, 'records', '--canonical', self.folder / 'run'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertNotIn('telemetry', done.stdout)


if __name__ == '__main__':
    unittest.main()
