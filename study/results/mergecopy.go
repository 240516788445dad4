package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/study/experiment"
)

// path returns the path of a file in the part's folder.
func (p *mergePart) path(name string) string { return filepath.Join(p.dir, name) }

// digestedFiles returns the traces and captures of a run with their digest lists. It ignores files without digests,
// which are incomplete. A file that does not match its digest is an error.
func (x *merger) digestedFiles(dir string, run *Run) (all []digestList, err error) {
	lists := []string{filepath.Join("traces", run.ID+TraceDigests)}
	if x.world == experiment.Lab {
		lists = []string{filepath.Join("captures", run.ID+TraceDigests), filepath.Join("captures",
			run.ID+"-hosts"+TraceDigests)}
	}
	for _, list := range lists {
		text, err := document.ReadFile(filepath.Join(dir, list), maxDigestBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fileError(dir, list, "the file cannot be read: %v", document.UnwrapPathError(err))
		}
		v := digestList{list: list, text: text}
		for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			_, name, is := strings.Cut(line, "  ")
			if i == 0 || strings.HasPrefix(line, "#") {
				continue // header lines: CheckTrace checks the first one
			}
			file := filepath.Join(filepath.Dir(list), name)
			if base := strings.TrimSuffix(filepath.Base(list), TraceDigests); !is || name != base+filepath.Ext(name) ||
				filepath.Ext(name) == TraceDigests {
				return nil, fileError(dir, list, "the file is damaged: line %d names no file of the run", i+1)
			}
			if _, err := CheckTrace(filepath.Join(dir, file), DigestHead(run)); err != nil {
				return nil, fileError(dir, file, "%v", err)
			}
			v.files = append(v.files, file)
		}
		all = append(all, v)
	}
	return all, nil
}

// writeFolder creates the merged folder, writes spec.yaml, origin.json and the inputs, and copies all missing files of
// runs into it. ctx ends it between two runs. A run follows its trace, so that an interrupted merge leaves no
// incomplete runs.
func (x *merger) writeFolder(ctx context.Context) error {
	if err := MakeFolder(x.dir); err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(x.dir, "spec.yaml"), x.spec.Resolved()); err != nil {
		return err
	}
	if x.hasOrigin {
		program := x.program
		if program == severalKey {
			program = ""
		}
		origin := formatOrigin(x.spec, x.command, x.version, program)
		if err := WriteFile(filepath.Join(x.dir, "origin.json"), origin); err != nil {
			return err
		}
	}
	if err := WriteInputs(x.spec, x.dir); err != nil {
		return err
	}
	for _, m := range x.chosen {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, list := range slices.Sorted(maps.Keys(x.lists[m.id])) {
			if err := x.copyFiles(x.lists[m.id][list], list); err != nil {
				return err
			}
		}
		fresh, err := x.copyRun(m)
		if err != nil {
			return err
		}
		if x.keptCount++; fresh {
			x.added = append(x.added, m.id)
		}
	}
	return nil
}

// readAgain reads the run's file again and checks that it has not changed.
func (m *mergeRun) readAgain() ([]byte, error) {
	data, err := document.ReadFile(m.path(), document.MaxResult)
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read: %w", m.path(), document.UnwrapPathError(err))
	}
	if sha256.Sum256(data) != m.sum {
		return nil, fmt.Errorf("%s: the file changed during the merge; merge again", m.path())
	}
	return data, nil
}

// copyRun copies a run's file into the merged folder; fresh reports whether the folder lacked it. Another result of the
// run in the folder is an error, and so is a process that executes it.
func (x *merger) copyRun(m *mergeRun) (fresh bool, err error) {
	if m.part.target {
		return false, nil
	}
	file := RunFile(x.dir, m.id)
	claim, err := ClaimRun(x.dir, m.id)
	if err == atomicfile.ErrTaken {
		return false, fmt.Errorf("%s: another process executes this run into the same folder; merge after it has ended", file)
	}
	if err != nil {
		return false, err
	}
	defer claim.Discard()
	data, err := m.readAgain()
	if err != nil {
		return false, err
	}
	there, err := document.ReadFile(file, document.MaxResult)
	if err == nil && bytes.Equal(there, data) {
		return false, nil
	}
	if err == nil { // it has appeared since, or was left out
		return false, x.checkSame(m, &mergeRun{part: &mergePart{dir: x.dir}, run: m.run, id: m.id, sum: sha256.Sum256(there)})
	}
	err = claim.Keep(data)
	return err == nil, err
}

// copyFiles copies the files of a digest list, then the list, into the merged folder unless the folder has them. runs
// are the ones with this list; the first one provides the files.
func (x *merger) copyFiles(runs []*mergeRun, list string) error {
	for _, m := range runs {
		if m.part.target {
			return nil
		}
	}
	p := runs[0].part
	var v digestList
	for _, y := range runs[0].lists {
		if y.list == list {
			v = y
		}
	}
	dir := filepath.Join(x.dir, filepath.Dir(list))
	if err := atomicfile.MkdirAll(dir); err != nil {
		return fmt.Errorf("%s: the folder cannot be created: %w", dir, document.UnwrapPathError(err))
	}
	if err := atomicfile.Remove(filepath.Join(x.dir, list)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return WrapWriteError(filepath.Join(x.dir, list), err)
	}
	for _, name := range v.files {
		sum, err := copyFile(p.path(name), filepath.Join(x.dir, name))
		if err != nil {
			return err
		}
		if !bytes.Contains(v.text, []byte(DigestLine(filepath.Base(name), sum))) {
			return fmt.Errorf("%s: the file changed during the merge: %s", p.path(name), hex.EncodeToString(sum))
		}
	}
	return WriteFile(filepath.Join(x.dir, list), v.text)
}

// trackedFile is a file that remembers its write error.
type trackedFile struct {
	*atomicfile.File
	err error
}

// Write writes to the file and keeps the last error in err.
func (w *trackedFile) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

// copyFile copies a file of any size, replaces to atomically, and returns its SHA-256.
func copyFile(from, to string) ([]byte, error) {
	in, _, err := document.Open(from)
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read: %w", from, document.UnwrapPathError(err))
	}
	defer in.Close()
	out, err := atomicfile.Create(to)
	if err != nil {
		return nil, WrapWriteError(to, err)
	}
	w, sum := &trackedFile{File: out}, sha256.New()
	if _, err := io.Copy(struct{ io.Writer }{w}, io.TeeReader(in, sum)); err != nil {
		out.Discard()
		if w.err != nil {
			return nil, WrapWriteError(to, w.err)
		}
		return nil, fmt.Errorf("%s: the file cannot be read: %w", from, document.UnwrapPathError(err))
	}
	return sum.Sum(nil), WrapWriteError(to, out.Commit())
}
