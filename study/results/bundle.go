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

// A bundle is a gzip-compressed tar archive of results folders. Its first file lists all other files with sizes and
// SHA-256. It has only the data of runs. Pages and tables are generated again on opening, so that a recipient never
// opens a page made by someone else.
const (
	bundleList   = "weir-bundle.json"
	bundleFormat = 1

	maxListBytes = 64 << 20 // of the list
	maxFolders   = 10000
	maxFiles     = 4000000
)

// bundleIndex is the list of a bundle.
type bundleIndex struct {
	Format  int             `json:"format"`
	Folders []bundledFolder `json:"folders"`
}

// bundledFolder is a results folder in the list.
type bundledFolder struct {
	Name  string        `json:"name"`
	Files []bundledFile `json:"files"`
}

// bundledFile is a file of a folder: its path relative to the folder, with slashes.
type bundledFile struct {
	Path   string    `json:"path"`
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Time   time.Time `json:"time"`
}

// bundledFiles and bundledFolders name the bundled contents of a results folder.
var (
	bundledFiles   = []string{"spec.yaml", "origin.json", "runs.json", hostsFile}
	bundledFolders = []string{"inputs", "runs", "traces", "captures"}
)

// Bundle writes results folders into one archive, and returns the number of files and bytes. It returns an error for a
// folder that another process writes to, for folders with the same name, and after ctx has ended; w may then have a
// part of the archive.
func Bundle(ctx context.Context, w io.Writer, dirs []string) (files int, bytes int64, err error) {
	list := bundleIndex{Format: bundleFormat}
	var roots []*os.Root
	defer func() {
		for _, r := range roots {
			r.Close()
		}
	}()
	for _, dir := range dirs {
		if !IsResultsFolder(dir) {
			return 0, 0, fmt.Errorf("%s is not a results folder of weir; name a results folder (weir results list)", dir)
		}
		full, err := filepath.Abs(dir)
		if err != nil {
			return 0, 0, err
		}
		f := bundledFolder{Name: filepath.Base(full)}
		if slices.ContainsFunc(list.Folders, func(o bundledFolder) bool { return o.Name == f.Name }) {
			return 0, 0, fmt.Errorf("%s: two folders have the name %s; bundle them one at a time", dir, f.Name)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return 0, 0, err
		}
		roots = append(roots, root)
		if f.Files, err = listFiles(ctx, root, dir); err != nil {
			return 0, 0, err
		}
		list.Folders = append(list.Folders, f)
	}
	if err := list.checkList(); err != nil {
		return 0, 0, fmt.Errorf("a results folder in this state cannot be bundled: %w", err)
	}
	files, bytes = list.totalSize()
	return files, bytes, list.writeArchive(ctx, w, roots)
}

// listFiles returns the bundled files of a folder with their sizes and digests, for which it reads them. It leaves out
// missing files, and returns an error for unexpected ones in subfolders. dir is the path of root.
func listFiles(ctx context.Context, root *os.Root, dir string) (files []bundledFile, err error) {
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
			if strings.HasPrefix(e.Name(), tempPrefix) {
				return nil, fmt.Errorf("%s: another process writes into the folder; bundle it after this process has ended", dir)
			}
			if names = append(names, path.Join(below, e.Name())); !isBundled(names[len(names)-1]) {
				return nil, fmt.Errorf("%s: %s cannot be bundled; only regular files with plain names are allowed",
					dir, names[len(names)-1])
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
			return nil, fmt.Errorf("%s: the file cannot be read: %w", filepath.Join(dir, name), document.UnwrapPathError(err))
		}
		at := info.ModTime().UTC().Truncate(time.Second)
		files = append(files, bundledFile{name, n, hex.EncodeToString(h.Sum(nil)), at})
	}
	return files, nil
}

// writeArchive writes the archive. roots are the folders of the list, in its order. It returns an error if a file has
// changed since it was listed.
func (l *bundleIndex) writeArchive(ctx context.Context, w io.Writer, roots []*os.Root) error {
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
				return fmt.Errorf("%s/%s changed while it was bundled; bundle the folder again", folder.Name, x.Path)
			}
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// totalSize returns the number of files and bytes in the list.
func (l *bundleIndex) totalSize() (files int, bytes int64) {
	for _, f := range l.Folders {
		for _, x := range f.Files {
			files++
			bytes += x.Size
		}
	}
	return files, bytes
}

// checkList returns an error if Bundle cannot have written the list. Names decide where files are written, so they must
// be plain and differ even without case.
func (l *bundleIndex) checkList() error {
	if l.Format != bundleFormat {
		return fmt.Errorf("its list has format %d; this version of weir supports format %d", l.Format, bundleFormat)
	}
	if len(l.Folders) == 0 || len(l.Folders) > maxFolders {
		return fmt.Errorf("its list has %d folders; 1 to %d are allowed", len(l.Folders), maxFolders)
	}
	listed, total, files := map[string]bool{}, int64(0), 0
	for _, f := range l.Folders {
		if !isPlainName(f.Name) || strings.HasPrefix(f.Name, ".") {
			return fmt.Errorf("%q is not a valid name of a results folder", document.ShortenName(f.Name))
		}
		if listed[strings.ToLower(f.Name)] { // some file systems ignore case
			return fmt.Errorf("the folder %s is listed twice", f.Name)
		}
		listed[strings.ToLower(f.Name)] = true
		for _, x := range f.Files {
			name := f.Name + "/" + x.Path
			sum, err := hex.DecodeString(x.SHA256)
			switch files++; {
			case !isBundled(x.Path):
				return fmt.Errorf("%q is not a file of a results folder", document.ShortenName(x.Path))
			case listed[strings.ToLower(name)]:
				return fmt.Errorf("the file %s is listed twice", document.ShortenName(name))
			case x.Size < 0 || total+x.Size < total:
				return fmt.Errorf("the list gives the file %s an invalid size of %d bytes", document.ShortenName(name), x.Size)
			case err != nil || len(sum) != sha256.Size:
				return fmt.Errorf("the list has no valid SHA-256 of the file %s", document.ShortenName(name))
			case files > maxFiles:
				return fmt.Errorf("its list has more than %d files, which is the limit", maxFiles)
			}
			listed[strings.ToLower(name)] = true
			total += x.Size
		}
	}
	return nil
}

// isBundled reports whether a path in a results folder belongs into a bundle. name has slashes.
func isBundled(name string) bool {
	if slices.Contains(bundledFiles, name) {
		return true
	}
	below, base, is := strings.Cut(name, "/")
	return is && slices.Contains(bundledFolders, below) && isPlainName(base) && !strings.HasPrefix(base, tempPrefix)
}

// isPlainName reports whether name is a valid name of a single file or folder on all systems.
func isPlainName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.TrimRight(name, ". ") != name {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == ':' || r == 0xfffd
	})
}

// UnbundleOptions configures Unbundle.
type UnbundleOptions struct {
	Parent   string // parent folder of the results folders
	MaxBytes int64  // limit of the total size in bytes
}

// Unbundle opens an untrusted archive. It accepts only files of results folders that are in the list, each once, with
// their listed size and digest, and no links or additional data. It writes into a new temporary folder and moves the
// results folders into place when all are correct; after an error it removes everything. It calls onFolder for each
// folder before the move; an error of onFolder aborts. onFolder receives the temporary path and the name of the folder.
// An existing folder of the same name is an error. It returns the names of the folders below Parent.
func Unbundle(ctx context.Context, r io.Reader, u UnbundleOptions,
	onFolder func(dir, name string) error) (names []string, err error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("it is not an archive of weir results bundle: %w", err)
	}
	z.Multistream(false)
	if err := atomicfile.MkdirAll(u.Parent); err != nil {
		return nil, fmt.Errorf("%s: the folder cannot be created: %w", u.Parent, document.UnwrapPathError(err))
	}
	work, err := os.MkdirTemp(u.Parent, ".weir-open-")
	if err != nil {
		return nil, fmt.Errorf("%s: the folder is not writable: %w", u.Parent, document.UnwrapPathError(err))
	}
	defer os.RemoveAll(work)
	list, err := unpackArchive(ctx, z, work, u)
	if err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(z, 1<<20)); err != nil || n == 1<<20 { // tar archives end with padding
		return nil, fmt.Errorf("data follow its last file: %w", trailingError(err))
	}
	var one [1]byte
	if n, _ := io.ReadFull(r, one[:]); n > 0 {
		return nil, errors.New("data follow its end")
	}
	for _, f := range list.Folders {
		if err := onFolder(filepath.Join(work, f.Name), f.Name); err != nil {
			return nil, err
		}
	}
	for k, f := range list.Folders {
		if err := os.Rename(filepath.Join(work, f.Name), filepath.Join(u.Parent, f.Name)); err != nil {
			for _, done := range names[:k] {
				os.RemoveAll(filepath.Join(u.Parent, done)) // this call has created them
			}
			return nil, fmt.Errorf("%s: the folder cannot be moved into place: %w", f.Name, document.UnwrapPathError(err))
		}
		names = append(names, f.Name)
	}
	return names, nil
}

// trailingError returns err, or an error about excess data.
func trailingError(err error) error {
	if err == nil {
		return errors.New("more than the padding of a tar archive")
	}
	return err
}

// unpackArchive writes the files of a tar archive into the empty folder work according to the archive's list, which it
// returns. It returns an error if a results folder exists already or the limit is exceeded.
func unpackArchive(ctx context.Context, r io.Reader, work string, u UnbundleOptions) (*bundleIndex, error) {
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
	if _, bytes := list.totalSize(); bytes > u.MaxBytes {
		return nil, fmt.Errorf("its files take %d bytes; up to %d are allowed (--most)", bytes, u.MaxBytes)
	}
	for _, f := range list.Folders {
		if _, err := os.Lstat(filepath.Join(u.Parent, f.Name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already; choose another folder with --into, or remove it with weir results remove",
				filepath.Join(u.Parent, f.Name))
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
			return nil, fmt.Errorf("%q is not in its list", document.ShortenName(h.Name))
		}
		return nil, fmt.Errorf("its end cannot be read: %w", err)
	}
	return list, nil
}

// readList reads and checks the list of files (bundleIndex), which is the first file of the archive. t is then behind
// it.
func readList(t *tar.Reader) (*bundleIndex, error) {
	h, err := t.Next()
	if err != nil {
		return nil, fmt.Errorf("it is not an archive of weir results bundle: %w", err)
	}
	if h.Name != bundleList || h.Typeflag != tar.TypeReg || h.Size > maxListBytes {
		return nil, fmt.Errorf("it is not an archive of weir results bundle: it does not begin with %s", bundleList)
	}
	data, err := io.ReadAll(io.LimitReader(t, maxListBytes))
	if err != nil {
		return nil, fmt.Errorf("its list cannot be read: %w", err)
	}
	list := &bundleIndex{}
	if err := json.Unmarshal(data, list); err != nil {
		return nil, fmt.Errorf("its list is not one that weir writes: %w", err)
	}
	return list, list.checkList()
}

// unpackFile writes the next file of the archive, which must be x with its listed size and digest, and sets its time.
func unpackFile(t *tar.Reader, root *os.Root, folder string, x bundledFile) error {
	name := path.Join(folder, x.Path)
	h, err := t.Next()
	switch {
	case err == io.EOF:
		return fmt.Errorf("it ends before %s", name)
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w", name, err)
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is not a regular file", document.ShortenName(h.Name))
	case h.Name != name:
		return fmt.Errorf("it has %q instead of %s", document.ShortenName(h.Name), name)
	case h.Size != x.Size:
		return fmt.Errorf("%s has %d bytes, but %d in the list", name, h.Size, x.Size)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, document.UnwrapPathError(err))
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(t, x.Size))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be written: %w", name, document.UnwrapPathError(err))
	case n != x.Size || hex.EncodeToString(sum.Sum(nil)) != x.SHA256:
		return fmt.Errorf("%s does not match the SHA-256 in the list: the archive is damaged", name)
	}
	return root.Chtimes(name, x.Time, x.Time)
}
