package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive. Programs are executable.
type entry struct {
	name    string
	data    []byte
	program bool
}

// compress returns a .tar.gz archive of files in a folder of the given name. It contains no data of this machine: all
// files have the time modified and the owner root, and are sorted by name.
func compress(folder string, modified time.Time, content []entry) ([]byte, error) {
	content = slices.SortedFunc(slices.Values(content), func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, e := range content {
		mode := int64(0o644)
		if e.program {
			mode = 0o755
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Size: int64(len(e.data)), Mode: mode,
			ModTime: modified, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// listChecksums returns a line for each file in the format of sha256sum -c.
func listChecksums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.Bytes()
}
