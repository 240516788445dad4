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

// at is a file of the part's folder.
func (p *part) at(name string) string { return filepath.Join(p.dir, name) }

// vouchedFiles are the traces and captures of a run that have the digests beside them. What is there without digests
// was not finished, and is not taken.
func (x *merging) vouchedFiles(dir string, run *Run) (all []vouched, err error) {
	lists := []string{filepath.Join("traces", run.ID+TraceDigests)}
	if x.world == experiment.Lab {
		lists = []string{filepath.Join("captures", run.ID+TraceDigests), filepath.Join("captures",
			run.ID+"-hosts"+TraceDigests)}
	}
	for _, list := range lists {
		text, err := document.ReadFile(filepath.Join(dir, list), largestDigests)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, wrong(dir, list, "it cannot be read: %v", document.Reason(err))
		}
		v := vouched{list: list, text: text}
		for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			_, name, is := strings.Cut(line, "  ")
			if i == 0 || strings.HasPrefix(line, "#") {
				continue // whose they are, which CheckTrace knows, and of what
			}
			file := filepath.Join(filepath.Dir(list), name)
			if base := strings.TrimSuffix(filepath.Base(list), TraceDigests); !is || name != base+filepath.Ext(name) ||
				filepath.Ext(name) == TraceDigests {
				return nil, wrong(dir, list, "it is damaged: line %d names no file of the run", i+1)
			}
			if _, err := CheckTrace(filepath.Join(dir, file), DigestHead(run)); err != nil {
				return nil, wrong(dir, file, "%v", err)
			}
			v.files = append(v.files, file)
		}
		all = append(all, v)
	}
	return all, nil
}

// write puts all into the merged folder that is not there: a run comes when its trace is there, so that a folder that
// was cut has nothing that is not whole.
func (x *merging) write(ctx context.Context) error {
	if err := MakeFolder(x.dir); err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(x.dir, "spec.yaml"), x.spec.Resolved()); err != nil {
		return err
	}
	if x.origin {
		program := x.program
		if program == severalKey {
			program = ""
		}
		origin := originOf(x.spec, x.command, x.version, program)
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
		if x.kept++; fresh {
			x.written = append(x.written, m.id)
		}
	}
	return nil
}

// reread reads a run's file again.
func (m *mergeable) reread() ([]byte, error) {
	data, err := document.ReadFile(m.file(), document.LargestResult)
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be read: %w", m.file(), document.Reason(err))
	}
	if sha256.Sum256(data) != m.sum {
		return nil, fmt.Errorf("%s: it has changed since it was looked at", m.file())
	}
	return data, nil
}

// copyRun puts a run's file into the merged folder; fresh, if it was not there.
func (x *merging) copyRun(m *mergeable) (fresh bool, err error) {
	if m.part.target {
		return false, nil
	}
	file := RunFile(x.dir, m.id)
	claim, err := ClaimRun(x.dir, m.id)
	if err == atomicfile.ErrTaken {
		return false, fmt.Errorf("%s: another process carries this run out, into the same folder", file)
	}
	if err != nil {
		return false, err
	}
	defer claim.Discard()
	data, err := m.reread()
	if err != nil {
		return false, err
	}
	there, err := document.ReadFile(file, document.LargestResult)
	if err == nil && bytes.Equal(there, data) {
		return false, nil
	}
	if err == nil { // it has come since the folder was looked at, or was left out
		return false, x.same(m, &mergeable{part: &part{dir: x.dir}, run: m.run, id: m.id, sum: sha256.Sum256(there)})
	}
	err = claim.Keep(data)
	return err == nil, err
}

// copyFiles puts files of a run, and the list of their digests, into the merged folder, unless they are there.
func (x *merging) copyFiles(from []*mergeable, list string) error {
	for _, m := range from {
		if m.part.target {
			return nil
		}
	}
	p := from[0].part
	var v vouched
	for _, y := range from[0].lists {
		if y.list == list {
			v = y
		}
	}
	dir := filepath.Join(x.dir, filepath.Dir(list))
	if err := atomicfile.MkdirAll(dir); err != nil {
		return fmt.Errorf("%s: it cannot be made: %w", dir, document.Reason(err))
	}
	if err := atomicfile.Remove(filepath.Join(x.dir, list)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Unwritten(filepath.Join(x.dir, list), err)
	}
	for _, name := range v.files {
		sum, err := copyFile(p.at(name), filepath.Join(x.dir, name))
		if err != nil {
			return err
		}
		if !bytes.Contains(v.text, []byte(DigestLine(filepath.Base(name), sum))) {
			return fmt.Errorf("%s: it has changed since it was looked at: %s", p.at(name), hex.EncodeToString(sum))
		}
	}
	return WriteFile(filepath.Join(x.dir, list), v.text)
}

// written is a file that knows why it cannot be written.
type written struct {
	*atomicfile.File
	err error
}

func (w *written) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

// copyFile copies a file, however large, and returns its digest.
func copyFile(from, to string) ([]byte, error) {
	in, _, err := document.Open(from)
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be read: %w", from, document.Reason(err))
	}
	defer in.Close()
	out, err := atomicfile.Create(to)
	if err != nil {
		return nil, Unwritten(to, err)
	}
	w, sum := &written{File: out}, sha256.New()
	if _, err := io.Copy(struct{ io.Writer }{w}, io.TeeReader(in, sum)); err != nil {
		out.Discard()
		if w.err != nil {
			return nil, Unwritten(to, w.err)
		}
		return nil, fmt.Errorf("%s: it cannot be read: %w", from, document.Reason(err))
	}
	return sum.Sum(nil), Unwritten(to, out.Commit())
}
