"""skyfix evaluate beside evo, on made and on real camera paths: equal to 1e-6."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIVERSITY = ROOT.parent / 'shared' / 'data' / 'university'
SKYFIX = os.environ['SKYFIX_BINARY']
sys.path.insert(0, subprocess.check_output([ROOT / 'scripts/test_tools', 'path'], text=True).strip())
try:
    import numpy as np
    from evo.core import metrics, sync
    from evo.core.trajectory import PoseTrajectory3D
except ImportError:
    if os.environ.get('CI') == 'true':
        raise
    metrics = None

STATISTICS = ('rmse', 'mean', 'median', 'std', 'min', 'max')
TOLERANCE = 1e-6


def multiply(a, b):  # quaternions, w first
    w, x, y, z = a
    v, i, j, k = b
    return np.array([w * v - x * i - y * j - z * k, w * i + x * v + y * k - z * j,
                     w * j - x * k + y * v + z * i, w * k + x * j - y * i + z * v])


def turn(q, v):
    return multiply(multiply(q, np.array([0, *v])), q * [1, -1, -1, -1])[1:]


def about(axis, angle):
    axis = np.array(axis) / np.linalg.norm(axis)
    return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])


class Path:
    def __init__(self, times, positions, quaternions):
        self.times, self.positions, self.quaternions = map(np.array, (times, positions, quaternions))

    def moved(self, scale, q, t):
        return Path(self.times, [scale * turn(q, p) + t for p in self.positions],
                    [multiply(q, r) for r in self.quaternions])

    def disturbed(self, random, size):
        return Path(self.times + random.uniform(-0.004, 0.004, len(self.times)),
                    self.positions + random.normal(0, size, self.positions.shape),
                    [multiply(r, about(random.normal(size=3), size)) for r in self.quaternions])

    def without(self, dropped):
        keep = [i for i in range(len(self.times)) if i not in dropped]
        return Path(self.times[keep], self.positions[keep], self.quaternions[keep])

    def write(self, file):
        rows = [f'{t:.9f} ' + ' '.join(repr(float(v)) for v in (*p, *q[1:], q[0]))
                for t, p, q in zip(self.times, self.positions, self.quaternions)]
        file.write_text('\n'.join(rows) + '\n')

    def evo(self):
        return PoseTrajectory3D(self.positions.copy(), self.quaternions.copy(), np.round(self.times, 9))


def made_path():
    random = np.random.default_rng(7)
    positions = np.cumsum(random.normal(0, 1, (120, 3)) * [1, 1, 0.2], axis=0)
    quaternions = random.normal(size=(120, 4))
    return Path(np.arange(120) * 0.1, positions, quaternions / np.linalg.norm(quaternions, axis=1)[:, None])


def university_path():
    reference = json.loads((UNIVERSITY / 'reference.json').read_text())
    frames = sorted({**reference['queries'], **reference['map']['frames']}.items())
    times, positions, quaternions = [], [], []
    for i, (_, entry) in enumerate(frames):
        q = np.array(entry['world_to_camera']['quaternion_wxyz'])
        back = q / np.linalg.norm(q) * [1, -1, -1, -1]
        times.append(i / 5)
        quaternions.append(back)
        positions.append(-turn(back, np.array(entry['world_to_camera']['translation'])))
    return Path(times, positions, quaternions)


def evo_figures(estimate, truth, align):
    reference, path = sync.associate_trajectories(truth.evo(), estimate.evo(), max_diff=0.01)
    scale = 1.0
    if align != 'none':
        _, _, scale = path.align(reference, correct_scale=align == 'sim3')
        scale = scale if align == 'sim3' else 1.0
    figures = {'compared': path.num_poses, 'scale': scale}
    relations = {'': metrics.PoseRelation.translation_part, '_rotation_deg': metrics.PoseRelation.rotation_angle_deg}
    for suffix, relation in relations.items():
        for name, metric in (('ate', metrics.APE(relation)),
                             ('rpe', metrics.RPE(relation, 1, metrics.Unit.frames, all_pairs=False))):
            metric.process_data((reference, path))
            figures[name + suffix] = metric.get_all_statistics()
    return figures


@unittest.skipIf(metrics is None, 'SKIPPED: scripts/test_tools install')
class Trajectories(unittest.TestCase):
    def compare(self, estimate, truth, align):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            estimate.write(scratch / 'estimate.tum')
            truth.write(scratch / 'truth.tum')
            done = subprocess.run([SKYFIX, 'evaluate', '--run', scratch / 'estimate.tum', '--reference',
                                   scratch / 'truth.tum', '--align', align, '--json', '-'],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = json.loads(done.stdout)
        theirs = evo_figures(estimate, truth, align)
        self.assertEqual(ours['compared'], theirs['compared'])
        self.assertAlmostEqual(ours['scale'], theirs['scale'], delta=TOLERANCE)
        largest = 0
        for name in ('ate', 'ate_rotation_deg', 'rpe', 'rpe_rotation_deg'):
            for statistic in STATISTICS:
                difference = abs(ours[name][statistic] - theirs[name][statistic])
                largest = max(largest, difference)
                self.assertLess(difference, TOLERANCE, (name, statistic, align))
        return ours, largest

    def check(self, path, size):
        random = np.random.default_rng(3)
        for align in ('sim3', 'se3', 'none'):
            truth = path.moved(3.2 if align == 'sim3' else 1, about([1, 2, 3], 0.7), np.array([5, -6, 7]))
            truth = truth.disturbed(random, size).without({3, 4, 50})
            ours, largest = self.compare(path.without({9, 10}), truth, align)
            self.assertGreater(ours['ate']['rmse'], size / 10)
            print(f'{align}: {ours["compared"]} poses, ATE {ours["ate"]["rmse"]:.6g}, differs by {largest:.1e}')

    def test_made_path(self):
        self.check(made_path(), 0.2)

    def test_real_path(self):
        if not (UNIVERSITY / 'reference.json').exists():
            self.assertNotEqual(os.environ.get('CI'), 'true', f'{UNIVERSITY} is missing')
            self.skipTest(f'SKIPPED: {UNIVERSITY} is missing')
        self.check(university_path(), 0.3)


if __name__ == '__main__':
    unittest.main()
