"""What the programs load: small machines start them, and heavy libraries stay where they are used.

Reads the dynamic sections (readelf -d) and follows them; nothing is assumed about what is loaded at
run time beyond that.
"""
import functools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BINARY = pathlib.Path(os.environ['SKYFIX_BINARY'])
FOLDER = BINARY.parent
# Without pictures and without a GPU.
LIGHT = ['skyfix-bench', 'skyfix_match_test', 'skyfix_memory_test']
HEAVY = re.compile(r'libopencv|libfaiss|libavcodec|libavformat|libceres|libskyfix_faiss_peer')
GPU = re.compile(r'libtorch_cuda|libc10_cuda|libcublas|libcudnn|libcusparse|libcufft|libcurand|libnccl|libskyfix_cuda')
# All that is loaded from the wheels that every machine has.
SMALL_SET = re.compile(r'^(libtorch_cpu|libc10|libgomp|libcudart|libcupti)\.so')


@functools.cache
def dynamic_section(path):
    """(needed names, RPATH folders, RUNPATH folders) of a library or program."""
    text = subprocess.run(['readelf', '-d', path], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r'\(NEEDED\).*\[(.+)\]', text)
    folders = {}
    for kind in ('RPATH', 'RUNPATH'):
        found = re.search(rf'\({kind}\).*\[(.*)\]', text)
        listed = found.group(1).split(':') if found else []
        folders[kind] = [entry.replace('$ORIGIN', str(path.parent)) for entry in listed if entry]
    return needed, folders['RPATH'], folders['RUNPATH']


@functools.cache
def system_libraries():
    text = subprocess.run(['/sbin/ldconfig', '-p'], capture_output=True, text=True, check=True).stdout
    return {name: pathlib.Path(path) for name, path in
            reversed(re.findall(r'^\t(\S+) \(.*x86-64.*\) => (\S+)$', text, re.M))}


def locate(name, folders):
    for folder in folders:
        if (pathlib.Path(folder) / name).exists():
            return pathlib.Path(folder) / name
    return system_libraries().get(name)


def reached(program):
    """Every library that the dynamic loader loads for a program: name -> path (None = not found)."""
    libraries = {}
    waiting = [(program, [])]
    while waiting:
        path, inherited = waiting.pop(0)
        needed, rpath, runpath = dynamic_section(path)
        inherited = rpath + inherited
        for name in needed:
            if name in libraries:
                continue
            libraries[name] = locate(name, runpath or inherited)
            if libraries[name] is not None:
                waiting.append((libraries[name], inherited))
    return libraries


def matching(pattern, libraries):
    return sorted(name for name in libraries if pattern.search(name))


class Linkage(unittest.TestCase):
    def test_the_reader_follows_libraries(self):
        libraries = reached(BINARY)
        self.assertTrue(matching(re.compile('libopencv_core'), libraries), 'skyfix decodes with OpenCV')
        self.assertTrue(matching(re.compile('libcudart'), libraries), 'reached through libtorch_cpu')

    def test_light_programs_start_without_heavy_libraries(self):
        for name in LIGHT:
            with self.subTest(name):
                self.assertEqual(matching(HEAVY, reached(FOLDER / name)), [])

    def test_faiss_is_not_inside_light_programs_either(self):
        symbols_of = b'N5faiss'  # the namespace, as it is mangled
        peer = FOLDER.parent / 'lib' / 'libskyfix_faiss_peer.so'
        self.assertIn(symbols_of, peer.read_bytes(), 'so that the next lines mean something')
        for name in LIGHT:
            with self.subTest(name):
                self.assertNotIn(symbols_of, (FOLDER / name).read_bytes())

    def test_no_program_links_the_gpu_part(self):
        for name in ['skyfix', *LIGHT]:
            with self.subTest(name):
                libraries = reached(FOLDER / name)
                self.assertEqual(matching(GPU, libraries), [])
                self.assertEqual([lib for lib, path in libraries.items() if path is None], [])

    def test_ffmpeg_is_behind_a_library_of_its_own(self):
        ffmpeg = re.compile(r'libav(codec|format|util|device|filter)|libsw(scale|resample)|libx26')
        for name in ['skyfix', 'skyfix-bench', 'skyfix_frames_test']:
            with self.subTest(name):
                self.assertEqual(matching(ffmpeg, reached(FOLDER / name)), [])
        library = FOLDER.parent / 'lib' / 'libskyfix_video.so'
        self.assertTrue(matching(ffmpeg, reached(library)), 'so that the lines above mean something')
        self.assertEqual(matching(re.compile('libavdevice|libavfilter'), reached(library)), [])

    def test_the_memory_room_does_without_libtorch(self):
        self.assertEqual(matching(re.compile('libtorch|libc10'), reached(FOLDER / 'skyfix_memory_test')), [])

    def test_skyfix_starts_with_the_small_set_of_wheels(self):
        libraries = reached(BINARY)
        wheels = libraries['libtorch_cpu.so'].parents[2]
        with tempfile.TemporaryDirectory() as folder:
            small = pathlib.Path(folder)
            for name, path in libraries.items():
                if path is None or not path.absolute().is_relative_to(wheels):
                    continue
                self.assertRegex(name, SMALL_SET)
                place = small / pathlib.Path(os.path.normpath(path)).relative_to(wheels)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(path)
            environment = {**os.environ, 'LD_LIBRARY_PATH': str(small / 'torch' / 'lib')}
            traced = subprocess.run([BINARY], env={**environment, 'LD_TRACE_LOADED_OBJECTS': '1'},
                                    capture_output=True, text=True, check=True).stdout
            self.assertIn(str(small), traced)
            self.assertNotIn(str(wheels), traced, 'nothing from the full set')
            self.assertNotIn('not found', traced)
            said = subprocess.run([BINARY, '--version'], env=environment, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn('skyfix', said.stdout.lower())


if __name__ == '__main__':
    unittest.main()
