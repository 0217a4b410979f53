"""`skyfix licenses` names every library that the binary loads."""
import os
import pathlib
import re
import subprocess
import unittest

BINARY = os.environ['SKYFIX_BINARY']

# Library name (as loaded) -> the word by which `skyfix licenses` names its project. Libraries that
# others bring along belong to the project that brings them.
NAMED_BY = {
    r'libceres': 'Ceres',
    r'libglog|libgflags|libunwind': 'glog',
    r'libspqr|libcholmod|libamd|libcamd|libccolamd|libcolamd|libsuitesparse|libcxsparse|libmetis'
    r'|libklu|libbtf|libumfpack': 'SuiteSparse',
    r'libopencv_': 'OpenCV',
    r'libtbb|libGLX|libGLdispatch|libOpenGL|libX11|libxcb|libXau|libXdmcp|libbsd|libmd': 'TBB',
    r'libfaiss': 'FAISS',
    r'libopenblas|libblas|liblapack': 'OpenBLAS',
    r'libjpeg': 'libjpeg-turbo',
    r'libpng': 'libpng',
    r'libtiff|libwebp|libsharpyuv|libLerc|libjbig|libdeflate|libzstd|liblzma': 'libtiff',
    r'libav|libsw': 'FFmpeg',
    r'libexif': 'libexif',
    r'libexempi|libexpat': 'Exempi',
    r'libGeographic': 'GeographicLib',
    r'libcrypto': 'OpenSSL',
    r'libz\.': 'zlib',
    r'libspdlog|libfmt': 'spdlog',
    r'libtorch|libc10': 'LibTorch',
    r'libcudart|libcupti': 'CUDA runtime',
}
SYSTEM = re.compile(r'^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libutil|libstdc\+\+|libgcc_s|libgomp|libgfortran|libquadmath|libatomic)(?=[.\d-]|$)')


class Licenses(unittest.TestCase):
    def test_every_loaded_library_is_named(self):
        loaded = subprocess.run(['ldd', BINARY], capture_output=True, text=True, check=True).stdout
        video = pathlib.Path(BINARY).parent.parent / 'lib' / 'libskyfix_video.so'
        needed = subprocess.run(['readelf', '-d', video], capture_output=True, text=True, check=True).stdout
        names = re.findall(r'\(NEEDED\).*\[(.+)\]', needed)
        self.assertGreater(len(names), 3)
        names += [line.split()[0].split('/')[-1] for line in loaded.splitlines() if line.strip()]
        self.assertGreater(len(names), 10)
        printed = subprocess.run([BINARY, 'licenses'], capture_output=True, text=True, check=True).stdout
        for name in names:
            if SYSTEM.match(name):
                continue
            project = next((word for pattern, word in NAMED_BY.items() if re.match(pattern, name)), None)
            self.assertIsNotNone(project, f'{name} is loaded and no licence is listed for it')
            self.assertIn(project, printed)


if __name__ == '__main__':
    unittest.main()
