package faultinject

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"weir/study/results"
)

// bundles returns archives of results folders. Some are damaged outside, which gzip's checksums detect, and some
// inside, as a new archive with damaged content.
func bundles(t *testing.T, e effort, dir string) []victim {
	var packed bytes.Buffer
	if _, _, err := results.Bundle(context.Background(), &packed, []string{dir}); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	tar, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	work, folder := t.TempDir(), filepath.Base(dir)
	place := regexp.MustCompile("(archive|list|end|last file|folder|" + regexp.QuoteMeta(folder) + ")\\b")
	return []victim{
		{name: "bundle", files: map[string][]byte{"a.tar.gz": packed.Bytes()}, file: "a.tar.gz", binary: true, slow: e.costly,
			place: place, try: func(files map[string][]byte) error { return opened(work, files["a.tar.gz"]) }},
		{name: "bundle, within", files: map[string][]byte{"a.tar": tar}, file: "a.tar", binary: true, slow: e.costly,
			place: place, try: func(files map[string][]byte) error {
				var again bytes.Buffer
				w, err := gzip.NewWriterLevel(&again, gzip.BestSpeed)
				if err != nil {
					panic(err)
				}
				w.Write(files["a.tar"])
				w.Close()
				return opened(work, again.Bytes())
			}}}
}

// opened opens an archive in a separate folder. No file is written outside it, and it is empty after an error.
func opened(work string, archive []byte) error {
	into := filepath.Join(work, "into")
	defer os.RemoveAll(into)
	names, err := results.Unbundle(context.Background(), bytes.NewReader(archive),
		results.UnbundleOptions{Parent: into, MaxBytes: 64 << 20}, func(string, string) error { return nil })
	left, _ := filepath.Glob(filepath.Join(into, "*"))
	hidden, _ := filepath.Glob(filepath.Join(into, ".*"))
	beside, _ := filepath.Glob(filepath.Join(work, "*"))
	switch {
	case len(beside) > 1:
		panic("it writes beside the folder: " + beside[0] + ", " + beside[1])
	case len(hidden) > 0 || err != nil && len(left) > 0:
		panic("it leaves " + append(hidden, left...)[0])
	case err == nil && (len(names) != len(left) || len(names) == 0):
		panic("it says nothing of what it has made")
	}
	return err
}
