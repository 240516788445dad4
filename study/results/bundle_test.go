package results

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed is a file of an archive.
type packed struct {
	name string
	kind byte
	link string
	data string
}

// tarOf returns an archive of these files.
func tarOf(t testing.TB, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if f.kind == 0 {
			f.kind = tar.TypeReg
		}
		h := &tar.Header{Typeflag: f.kind, Name: f.name, Linkname: f.link, Size: int64(len(f.data)), Mode: 0o644}
		if f.kind != tar.TypeReg {
			h.Size = 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if f.kind == tar.TypeReg {
			w.Write([]byte(f.data))
		}
	}
	w.Close()
	return b.Bytes()
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// listing returns the list of an archive with these files of folder x.
func listing(files ...packed) packed {
	l := bundleIndex{Format: bundleFormat, Folders: []bundledFolder{{Name: "x"}}}
	for _, f := range files {
		l.Folders[0].Files = append(l.Folders[0].Files, bundledFile{Path: strings.TrimPrefix(f.name, "x/"),
			Size: int64(len(f.data)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(f.data)))})
	}
	data, _ := json.Marshal(l)
	return packed{name: bundleList, data: string(data)}
}

// whole returns all paths below a folder.
func whole(t testing.TB, dir string) (all []string) {
	t.Helper()
	filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && name != dir {
			all = append(all, name)
		}
		return nil
	})
	return all
}

// archive is an archive of unknown origin, and why it is refused.
type archive struct {
	name string
	tar  []byte
	want string // "": it is right
}

func archives(t *testing.T) []archive {
	spec := packed{name: "x/spec.yaml", data: "a: b\n"}
	run := packed{name: "x/runs/0123.json", data: "{}"}
	good := []packed{listing(spec, run), spec, run}
	replace := func(l packed, old, new string) packed {
		if !strings.Contains(l.data, old) {
			t.Fatalf("%q is not in %s", old, l.data)
		}
		l.data = strings.Replace(l.data, old, new, 1)
		return l
	}
	named := func(path string) []byte {
		f := packed{name: "x/" + path, data: "x"}
		return tarOf(t, listing(f), f)
	}
	folder := func(name string) []byte {
		quoted, _ := json.Marshal(name)
		return tarOf(t, replace(listing(spec), `"name":"x"`, `"name":`+string(quoted)), packed{name: name + "/spec.yaml",
			data: spec.data})
	}
	return []archive{
		{"as weir writes it", tarOf(t, good...), ""},
		{"empty", tarOf(t), "it is not an archive of weir results bundle"},
		{"no list", tarOf(t, spec), "it does not begin with weir-bundle.json"},
		{"a list that is none", tarOf(t, packed{name: bundleList, data: "[]"}), "its list is not one that weir writes"},
		{"another format", tarOf(t, replace(listing(spec), `"format":1`, `"format":2`), spec), "its list has format 2"},
		{"no folders", tarOf(t, packed{name: bundleList, data: `{"format":1}`}), "its list has 0 folders"},
		{"a path upwards", named("../../evil"), `is not a file of a results folder`},
		{"a path from the root", named("/etc/evil"), `is not a file of a results folder`},
		{"a path with backslashes", named(`runs\..\evil`), `is not a file of a results folder`},
		{"a folder in a folder", named("runs/a/b"), `is not a file of a results folder`},
		{"upwards below runs", named("runs/.."), `is not a file of a results folder`},
		{"a stream of another system", named("runs/a:b"), `is not a file of a results folder`},
		{"a page", named("report.html"), `is not a file of a results folder`},
		{"a plot", named("plots/1.svg"), `is not a file of a results folder`},
		{"a file under way", named("runs/.new-a"), `is not a file of a results folder`},
		{"a folder upwards", folder(".."), `is not a valid name of a results folder`},
		{"a hidden folder", folder(".ssh"), `is not a valid name of a results folder`},
		{"a folder with a path", folder("a/b"), `is not a valid name of a results folder`},
		{"no name", folder(""), `is not a valid name of a results folder`},
		{"that acts on a terminal", folder("\x1b[2J"), `is not a valid name of a results folder`},
		{"a file twice", tarOf(t, listing(spec, spec), spec, spec), "is listed twice"},
		{"twice where letters are alike", tarOf(t, listing(run, packed{name: "x/runs/0123.JSON", data: "{}"}), run, run),
			"is listed twice"},
		{"a link", tarOf(t, listing(spec), packed{name: spec.name, kind: tar.TypeSymlink, link: "/etc/passwd"}),
			"is not a regular file"},
		{"a hard link", tarOf(t, listing(spec), packed{name: spec.name, kind: tar.TypeLink, link: "/etc/passwd"}),
			"is not a regular file"},
		{"a folder in place of a file", tarOf(t, listing(spec), packed{name: spec.name, kind: tar.TypeDir}),
			"is not a regular file"},
		{"a device", tarOf(t, listing(spec), packed{name: spec.name, kind: tar.TypeChar}), "is not a regular file"},
		{"another file", tarOf(t, listing(spec), run), "instead of x/spec.yaml"},
		{"another length", tarOf(t, listing(spec), packed{name: spec.name, data: "a: bb\n"}), "but 5 in the list"},
		{"other content", tarOf(t, listing(spec), packed{name: spec.name, data: "a: c\n"}), "does not match the SHA-256"},
		{"a file too many", tarOf(t, listing(spec), spec, run), `"x/runs/0123.json" is not in its list`},
		{"a file too few", tarOf(t, listing(spec, run), spec), "it ends before x/runs/0123.json"},
		{"a negative size", tarOf(t, replace(listing(spec), `"size":5`, `"size":-5`), spec),
			"x/spec.yaml an invalid size of -5 bytes"},
		{"a size that overflows", tarOf(t, replace(replace(listing(spec, run), `"size":5`, `"size":9223372036854775807`),
			`"size":2`, `"size":9223372036854775807`)), "an invalid size of 9223372036854775807 bytes"},
		{"more than is allowed", tarOf(t, replace(listing(spec), `"size":5`, `"size":5000000`), spec),
			"up to 1000000 are allowed"},
		{"no digest", tarOf(t, replace(listing(spec), `"sha256":"`, `"sha256":"zz`), spec),
			"has no valid SHA-256 of the file"},
		{"cut", tarOf(t, good...)[:1600], "it ends before x/runs/0123.json"},
	}
}

// TestUnbundle_RefusesHostileArchives checks that an archive that is not as weir writes it is refused without a trace,
// since its origin is unknown.
func TestUnbundle_RefusesHostileArchives(t *testing.T) {
	for _, x := range archives(t) {
		t.Run(x.name, func(t *testing.T) {
			around := t.TempDir()
			into := filepath.Join(around, "into")
			var seen []string
			names, err := Unbundle(t.Context(), bytes.NewReader(zipped(x.tar)), UnbundleOptions{into, 1000000},
				func(dir, name string) error { seen = append(seen, name); return nil })
			if x.want == "" {
				if err != nil || len(names) != 1 || len(seen) != 1 || len(whole(t, around)) != 5 {
					t.Errorf("%v, %v, %v", names, err, whole(t, around))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.want) || len(names) > 0 {
				t.Errorf("%v: %v; want %q", names, err, x.want)
			}
			if left := whole(t, around); len(left) != 1 { // into
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestRefusedArchives checks that data behind an archive, and an error of the caller, cause a refusal, too.
func TestRefusedArchives(t *testing.T) {
	spec := packed{name: "x/spec.yaml", data: "a: b\n"}
	good := []packed{listing(spec), spec}
	t.Run("something behind the end", func(t *testing.T) {
		data := append(zipped(tarOf(t, good...)), zipped([]byte("more"))...)
		if _, err := Unbundle(t.Context(), bytes.NewReader(data), UnbundleOptions{t.TempDir(), 1000000},
			func(string, string) error { return nil }); err == nil || !strings.Contains(err.Error(), "data follow its end") {
			t.Error(err)
		}
	})
	t.Run("refused by who opens it", func(t *testing.T) {
		dir := t.TempDir()
		_, err := Unbundle(t.Context(), bytes.NewReader(zipped(tarOf(t, good...))), UnbundleOptions{dir, 1000000},
			func(string, string) error { return os.ErrInvalid })
		if err == nil || len(whole(t, dir)) > 0 {
			t.Errorf("%v, left %v", err, whole(t, dir))
		}
	})
}

// FuzzUnpackArchive_StaysInFolder looks for archives that write outside of their folder, or that are accepted although
// a file differs from the list.
func FuzzUnpackArchive_StaysInFolder(f *testing.F) {
	spec := packed{name: "x/spec.yaml", data: "a: b\n"}
	run := packed{name: "x/runs/0123.json", data: "{}"}
	f.Add(tarOf(f, listing(spec, run), spec, run))
	f.Add(tarOf(f, listing(spec), packed{name: "x/spec.yaml", kind: tar.TypeSymlink, link: "../.."}))
	f.Add(tarOf(f, listing(packed{name: "x/../y"}), packed{name: "x/../y"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		around := t.TempDir()
		work := filepath.Join(around, "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			t.Fatal(err)
		}
		list, err := unpackArchive(t.Context(), bytes.NewReader(data), work, UnbundleOptions{filepath.Join(around, "into"),
			1 << 20})
		for _, name := range whole(t, around) {
			if info, err := os.Lstat(name); err != nil || !info.IsDir() && !info.Mode().IsRegular() ||
				name != work && !strings.HasPrefix(name, work+string(filepath.Separator)) {
				t.Errorf("%s has come to be", name)
			}
		}
		if err != nil {
			return
		}
		for _, folder := range list.Folders {
			for _, x := range folder.Files {
				data, err := os.ReadFile(filepath.Join(work, folder.Name, filepath.FromSlash(x.Path)))
				if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != x.SHA256 {
					t.Errorf("%s/%s: %v", folder.Name, x.Path, err)
				}
			}
		}
	})
}
