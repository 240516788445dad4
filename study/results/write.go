package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/document"
	"weir/study/spec"
)

// Folder is the experiment's results folder below dir, of a world.
func Folder(s *spec.Spec, dir, world string) string {
	name := strings.ReplaceAll(s.Name(), "/", "-") + "-" + s.Hash()[:12]
	if world != spec.Sim {
		name += "-" + world
	}
	return filepath.Join(dir, name)
}

// Kept says how much of the experiment is in the results folder, and what to do about
// the rest.
func (o *Outcome) Kept() string {
	all := len(o.Runs) + len(o.Failed) + o.Missing
	switch {
	case o.Untraced > 0:
		return fmt.Sprintf("%d of %d runs are finished and kept, %d of them without the trace; the same command goes on "+
			"with the rest", len(o.Runs), all, o.Untraced)
	case len(o.Runs) == all:
		return fmt.Sprintf("all %d runs are finished and kept", all)
	}
	return fmt.Sprintf("%d of %d runs are finished and kept; the same command goes on with the rest", len(o.Runs), all)
}

func RunFile(dir, id string) string {
	return filepath.Join(dir, "runs", id+".json")
}

// WriteFile writes a file of a results folder so that a reader sees the old one or the
// new one, never a part. The error names the file.
func WriteFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("%s: it cannot be written: %w", name, document.Reason(err))
	}
	_, err = f.Write(data)
	if err2 := f.Chmod(0o644); err == nil {
		err = err2
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: it cannot be written: %w", name, document.Reason(err))
	}
	return nil
}

func Indent(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err) // what this file has written is JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}
