package results

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/atomicfile"
	"weir/internal/document"
)

// A bundle is a tar archive, compressed with gzip, of results folders. Its first file lists all others with their sizes
// and SHA-256. It has what runs have left, and not what is made of that: pages and tables are made anew where it is
// opened, so that nobody opens somebody else's page.
const (
	bundleList   = "weir-bundle.json"
	bundleFormat = 1

	mostList    = 64 << 20 // bytes of the list
	mostFolders = 10000
	mostFiles   = 4000000
)

// bundled is the list of a bundle.
type bundled struct {
	Format  int             `json:"format"`
	Folders []bundledFolder `json:"folders"`
}

type bundledFolder struct {
	Name  string        `json:"name"`
	Files []bundledFile `json:"files"`
}

// bundledFile is a file of a folder: its path in it, with slashes.
type bundledFile struct {
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Time   time.Time `json:"time"`
}

// bundledFiles and bundledFolders are what of a results folder goes into a bundle.
var (
	bundledFiles   = []string{"spec.yaml", "origin.json", "runs.json", hostsFile}
	bundledFolders = []string{"inputs", "runs", "traces", "captures"}
)

// Bundle writes results folders into one archive. Folders that are being written to are refused.
func Bundle(ctx context.Context, w io.Writer, dirs []string) (files int, bytes int64, err error) {
	list := bundled{Format: bundleFormat}
	var roots []*os.Root
	defer func() {
		for _, r := range roots {
			r.Close()
		}
	}()
	for _, dir := range dirs {
		if !Marked(dir) {
			return 0, 0, fmt.Errorf("%s is no folder that weir has made for results", dir)
		}
		full, err := filepath.Abs(dir)
		if err != nil {
			return 0, 0, err
		}
		f := bundledFolder{Name: filepath.Base(full)}
		if slices.ContainsFunc(list.Folders, func(o bundledFolder) bool { return o.Name == f.Name }) {
			return 0, 0, fmt.Errorf("%s: two folders have the name %s", dir, f.Name)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return 0, 0, err
		}
		roots = append(roots, root)
		if f.Files, err = listOf(ctx, root, dir); err != nil {
			return 0, 0, err
		}
		list.Folders = append(list.Folders, f)
	}
	if err := list.check(); err != nil {
		return 0, 0, fmt.Errorf("this cannot be bundled: %w", err)
	}
	files, bytes = list.size()
	return files, bytes, list.write(ctx, w, roots)
}

// listOf lists what of a folder is bundled.
func listOf(ctx context.Context, root *os.Root, dir string) (files []bundledFile, err error) {
	names := slices.Clone(bundledFiles)
	for _, below := range bundledFolders {
		if info, err := root.Lstat(below); err != nil || !info.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(dir, below))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), newFile) {
				return nil, fmt.Errorf("%s: a process writes into it: bundle it when that has ended", dir)
			}
			if names = append(names, path.Join(below, e.Name())); !inBundle(names[len(names)-1]) {
				return nil, fmt.Errorf("%s: %s cannot be in a bundle", dir, names[len(names)-1])
			}
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		n, err := io.Copy(h, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: it cannot be read: %w", filepath.Join(dir, name), document.Reason(err))
		}
		at := info.ModTime().UTC().Truncate(time.Second)
		files = append(files, bundledFile{name, n, hex.EncodeToString(h.Sum(nil)), at})
	}
	return files, nil
}

// write writes the archive.
func (l *bundled) write(ctx context.Context, w io.Writer, roots []*os.Root) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	add := func(name string, size int64, at time.Time, r io.Reader) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(t, r)
		return err
	}
	if err := add(bundleList, int64(len(data)), time.Time{}, strings.NewReader(string(data))); err != nil {
		return err
	}
	for k, folder := range l.Folders {
		for _, x := range folder.Files {
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := roots[k].Open(x.Path)
			if err != nil {
				return err
			}
			h := sha256.New()
			err = add(path.Join(folder.Name, x.Path), x.Size, x.Time, io.TeeReader(io.LimitReader(f, x.Size), h))
			f.Close()
			if err != nil {
				return err
			}
			if hex.EncodeToString(h.Sum(nil)) != x.SHA256 {
				return fmt.Errorf("%s/%s has changed meanwhile: bundle it again", folder.Name, x.Path)
			}
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// size is how many files the list has, and how many bytes.
func (l *bundled) size() (files int, bytes int64) {
	for _, f := range l.Folders {
		for _, x := range f.Files {
			files++
			bytes += x.Size
		}
	}
	return files, bytes
}

// check is an error if the list is not one of what Bundle writes. Names decide where files go.
func (l *bundled) check() error {
	if l.Format != bundleFormat {
		return fmt.Errorf("its list has format %d; this weir reads and writes format %d", l.Format, bundleFormat)
	}
	if len(l.Folders) == 0 || len(l.Folders) > mostFolders {
		return fmt.Errorf("its list has %d folders; 1 … %d are allowed", len(l.Folders), mostFolders)
	}
	seen, total, files := map[string]bool{}, int64(0), 0
	for _, f := range l.Folders {
		if !plainBase(f.Name) || strings.HasPrefix(f.Name, ".") {
			return fmt.Errorf("%q is no name of a results folder", document.Shorten(f.Name))
		}
		if seen[strings.ToLower(f.Name)] { // some systems do not tell letters apart
			return fmt.Errorf("the folder %s is in its list twice", f.Name)
		}
		seen[strings.ToLower(f.Name)] = true
		for _, x := range f.Files {
			name := f.Name + "/" + x.Path
			sum, err := hex.DecodeString(x.SHA256)
			switch files++; {
			case !inBundle(x.Path):
				return fmt.Errorf("%q is no file of a results folder", document.Shorten(x.Path))
			case seen[strings.ToLower(name)]:
				return fmt.Errorf("the file %s is in its list twice", document.Shorten(name))
			case x.Size < 0 || total+x.Size < total:
				return fmt.Errorf("the file %s has %d bytes in its list", document.Shorten(name), x.Size)
			case err != nil || len(sum) != sha256.Size:
				return fmt.Errorf("the file %s has no SHA-256 in its list", document.Shorten(name))
			case files > mostFiles:
				return fmt.Errorf("its list has more than %d files", mostFiles)
			}
			seen[strings.ToLower(name)] = true
			total += x.Size
		}
	}
	return nil
}

// inBundle reports whether a path in a results folder is that of a file that bundles have.
func inBundle(name string) bool {
	if slices.Contains(bundledFiles, name) {
		return true
	}
	below, base, is := strings.Cut(name, "/")
	return is && slices.Contains(bundledFolders, below) && plainBase(base) && !strings.HasPrefix(base, newFile)
}

// plainBase reports whether a name is one of a file or folder, on any system, and nothing else.
func plainBase(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.TrimRight(name, ". ") != name {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == ':' || r == 0xfffd
	})
}

// Unbundling says how an archive is opened.
type Unbundling struct {
	Into string // the folder that results folders go into
	Most int64  // bytes of all files together
}

// Unbundle opens an archive that may be anybody's: it takes files of results folders alone, by their list, no links,
// none twice, none larger than was said or with another digest, and nothing beside or behind them. All is written
// into a new folder of its own, and moved into its place when all of it is right; after an error nothing is left.
// made is called for each folder before that, and can refuse it.
func Unbundle(ctx context.Context, r io.Reader, u Unbundling, made func(dir, name string) error) (names []string,
	err error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("it is no archive of weir results bundle: %w", err)
	}
	z.Multistream(false)
	if err := atomicfile.MkdirAll(u.Into); err != nil {
		return nil, fmt.Errorf("%s: it cannot be made: %w", u.Into, document.Reason(err))
	}
	work, err := os.MkdirTemp(u.Into, ".weir-open-")
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be written into: %w", u.Into, document.Reason(err))
	}
	defer os.RemoveAll(work)
	list, err := unpack(ctx, z, work, u)
	if err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(z, 1<<20)); err != nil || n == 1<<20 { // the end of a tar is padded
		return nil, fmt.Errorf("there is something behind its last file: %w", cmpErr(err))
	}
	var one [1]byte
	if n, _ := io.ReadFull(r, one[:]); n > 0 {
		return nil, errors.New("there is something behind its end")
	}
	for _, f := range list.Folders {
		if err := made(filepath.Join(work, f.Name), f.Name); err != nil {
			return nil, err
		}
	}
	for k, f := range list.Folders {
		if err := os.Rename(filepath.Join(work, f.Name), filepath.Join(u.Into, f.Name)); err != nil {
			for _, done := range names[:k] {
				os.RemoveAll(filepath.Join(u.Into, done)) // these are new, and this process' own
			}
			return nil, fmt.Errorf("%s: it cannot be moved in: %w", f.Name, document.Reason(err))
		}
		names = append(names, f.Name)
	}
	return names, nil
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("more than the padding of a tar archive")
	}
	return err
}

// unpack writes the files of a tar archive into an empty folder, as its list has them.
func unpack(ctx context.Context, r io.Reader, work string, u Unbundling) (*bundled, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := tar.NewReader(r)
	list, err := readList(t)
	if err != nil {
		return nil, err
	}
	if _, bytes := list.size(); bytes > u.Most {
		return nil, fmt.Errorf("it has files of %d bytes; %d are allowed", bytes, u.Most)
	}
	for _, f := range list.Folders {
		if _, err := os.Lstat(filepath.Join(u.Into, f.Name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is there already; another folder is allowed, or weir results remove",
				filepath.Join(u.Into, f.Name))
		}
		if err := root.Mkdir(f.Name, 0o755); err != nil {
			return nil, err
		}
		for _, below := range bundledFolders {
			if slices.ContainsFunc(f.Files, func(x bundledFile) bool { return strings.HasPrefix(x.Path, below+"/") }) {
				if err := root.Mkdir(path.Join(f.Name, below), 0o755); err != nil {
					return nil, err
				}
			}
		}
		for _, x := range f.Files {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := unpackFile(t, root, f.Name, x); err != nil {
				return nil, err
			}
		}
	}
	if h, err := t.Next(); err != io.EOF {
		if err == nil {
			return nil, fmt.Errorf("%q is not in its list", document.Shorten(h.Name))
		}
		return nil, fmt.Errorf("its end cannot be read: %w", err)
	}
	return list, nil
}

// readList reads the first file.
func readList(t *tar.Reader) (*bundled, error) {
	h, err := t.Next()
	if err != nil {
		return nil, fmt.Errorf("it is no archive of weir results bundle: %w", err)
	}
	if h.Name != bundleList || h.Typeflag != tar.TypeReg || h.Size > mostList {
		return nil, fmt.Errorf("it is no archive of weir results bundle: it does not begin with %s", bundleList)
	}
	data, err := io.ReadAll(io.LimitReader(t, mostList))
	if err != nil {
		return nil, fmt.Errorf("its list cannot be read: %w", err)
	}
	list := &bundled{}
	if err := json.Unmarshal(data, list); err != nil {
		return nil, fmt.Errorf("its list is not what weir writes: %w", err)
	}
	return list, list.check()
}

// unpackFile writes the next file, which has to be this one.
func unpackFile(t *tar.Reader, root *os.Root, folder string, x bundledFile) error {
	name := path.Join(folder, x.Path)
	h, err := t.Next()
	switch {
	case err == io.EOF:
		return fmt.Errorf("it ends before %s", name)
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w", name, err)
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is no regular file", document.Shorten(h.Name))
	case h.Name != name:
		return fmt.Errorf("%q is in the place of %s", document.Shorten(h.Name), name)
	case h.Size != x.Size:
		return fmt.Errorf("%s has %d bytes; its list says %d", name, h.Size, x.Size)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, document.Reason(err))
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(t, x.Size))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be written: %w", name, document.Reason(err))
	case n != x.Size || hex.EncodeToString(sum.Sum(nil)) != x.SHA256:
		return fmt.Errorf("%s does not have the SHA-256 of its list: the archive is damaged", name)
	}
	return root.Chtimes(name, x.Time, x.Time)
}
