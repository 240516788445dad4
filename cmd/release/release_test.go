package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// day is the time of a commit.
var day = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// TestCompress_IsIndependentOfEntryOrder checks that an archive has the same bytes for any order of its entries,
// and that a tar reader finds the entries with fixed modes, owners and times.
func TestCompress_IsIndependentOfEntryOrder(t *testing.T) {
	content := []entry{{"weir", []byte("program"), true}, {"LICENSE", []byte("text"), false}}
	one, err := compress("weir-v1", day, content)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(content)
	if two, err := compress("weir-v1", day, content); err != nil || !bytes.Equal(one, two) {
		t.Errorf("another archive: %v", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		got = append(got, fmt.Sprintf("%s %o %d %s %s", h.Name, h.Mode, h.Uid, h.ModTime.UTC().Format(time.DateTime), data))
	}
	want := []string{"weir-v1/LICENSE 644 0 2026-11-26 12:00:00 text", "weir-v1/weir 755 0 2026-11-26 12:00:00 program"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestMakeRelease_RejectsBadOptions checks that a bad platform, version or folder is refused before the build.
func TestMakeRelease_RejectsBadOptions(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		o    options
		want string
	}{
		{"platform", options{Platforms: []string{"linux"}}, `"linux" is not a platform; allowed: linux/amd64, `},
		{"version", options{Version: "../x"}, `"../x" cannot be part of a file name`},
		{"folder", options{Out: full}, "already contains files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.o.makeRelease("../.."); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestPublish_WritesFilesAndChecksums checks that publish writes the given files, and a file with their checksums.
func TestPublish_WritesFilesAndChecksums(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	written, err := publish(dir, map[string][]byte{"b.tar.gz": []byte("b"), "a.tar.gz": []byte("a")})
	want := []string{filepath.Join(dir, "SHA256SUMS"), filepath.Join(dir, "a.tar.gz"), filepath.Join(dir, "b.tar.gz")}
	if err != nil || !slices.Equal(written, want) {
		t.Fatalf("%v, %v", written, err)
	}
	sums, err := os.ReadFile(want[0])
	text := fmt.Sprintf("%x  a.tar.gz\n%x  b.tar.gz\n", sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b")))
	if err != nil || string(sums) != text {
		t.Errorf("the checksums are %q, %v; want %q", sums, err, text)
	}
}

// TestUnpack_RejectsPathsOutsideFolder checks that an archive with a path outside its folder is not unpacked.
func TestUnpack_RejectsPathsOutsideFolder(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../x", Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&b, t.TempDir()); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("%v", err)
	}
}
