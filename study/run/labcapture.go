package run

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// hasCaptures reports whether the last attempt of a run has captures, with valid digests, of all requested switches and
// hosts. If not, the run is executed again. An error describes a damaged capture. A run without Weir hosts needs no
// capture of hosts.
func (o *Lab) hasCaptures(r *results.Run, dir string) (bool, error) {
	for _, name := range o.Capture {
		n := len(r.Attempts)
		if n > 0 && name == lab.CaptureHosts && r.Attempts[n-1].Hosts == nil {
			continue // the run has no Weir hosts
		}
		if n == 0 || !slices.ContainsFunc(r.Attempts[n-1].Replays, func(x results.Replay) bool { return x.Switch == name }) {
			return false, nil
		}
	}
	for _, file := range o.listCaptures(r, dir) {
		listed, err := results.CheckTrace(file, results.DigestHead(r))
		if err == nil && !listed {
			err = errors.New("its digest is missing")
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", filepath.Join("captures", filepath.Base(file)), err)
		}
	}
	return true, nil
}

// listCaptures returns the files of the requested captures that the last attempt has replayed.
func (o *Lab) listCaptures(r *results.Run, dir string) (files []string) {
	n := len(r.Attempts)
	if n == 0 {
		return nil
	}
	for i := range r.Attempts[n-1].Replays {
		name := r.Attempts[n-1].Replays[i].Switch
		file := captureFile(dir, r.ID)
		if name == lab.CaptureHosts {
			file = hostsFile(dir, r.ID)
		}
		if slices.Contains(o.Capture, name) && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// splitCapture returns the names of the captured switches. The result hosts reports whether Weir hosts are captured,
// too.
func (o *Lab) splitCapture() (switches []string, hosts bool) {
	for _, name := range o.Capture {
		if hosts = hosts || name == lab.CaptureHosts; name != lab.CaptureHosts {
			switches = append(switches, name)
		}
	}
	return switches, hosts
}

// writeDigests writes the digests of a run's captures next to them, after a sync to disk.
func (o *Lab) writeDigests(r *results.Run, dir string) error {
	for _, file := range o.listCaptures(r, dir) { // only complete captures
		if err := writeDigest(file, results.DigestHead(r)); err != nil {
			return err
		}
	}
	return nil
}

// writeDigest syncs a capture to the disk and writes its digest with the given head next to it.
func writeDigest(capture, head string) error {
	f, err := os.Open(capture)
	if err != nil {
		return fmt.Errorf("%s: the file cannot be read: %w", capture, document.UnwrapPathError(err))
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: the capture cannot be stored: %w", capture, document.UnwrapPathError(err))
	}
	list := strings.TrimSuffix(capture, filepath.Ext(capture)) + results.TraceDigests
	line := results.DigestLine(filepath.Base(capture), sum.Sum(nil))
	return results.WriteFile(list, []byte(head+line))
}

// captureFile returns the name of a run's capture of switches, and hostsFile the name of its capture of hosts.
func captureFile(dir, id string) string { return filepath.Join(dir, "captures", id+".pcapng") }

func hostsFile(dir, id string) string { return filepath.Join(dir, "captures", id+"-hosts.pcapng") }

// replayFile replays the captured input of each of the lab's switches through the simulator's switch and compares the
// output. The results have the first difference of each switch. An error means that the capture cannot be read or
// replayed.
func replayFile(c *lab.Config, switches []string, file string) (all []results.Replay, err error) {
	for _, name := range switches {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: the file cannot be read: %w", file, document.UnwrapPathError(err))
		}
		r, err := lab.Replay(c, name, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: switch %s: %w", file, name, err)
		}
		x := results.Replay{Switch: name, In: r.In, Out: r.Out, Cut: r.Cut}
		if r.First != nil {
			x.Difference = r.First.String()
		}
		all = append(all, x)
	}
	return all, nil
}

// ReplayHostsFile replays the captured input of a run's Weir hosts through the simulator's hosts and compares the
// output. The result has the first difference. An error means that the capture cannot be read or replayed.
func ReplayHostsFile(r *plan.Run, file string) (x results.Replay, err error) {
	c, err := HostsConfig(r)
	if err != nil {
		return x, err
	}
	f, err := os.Open(file)
	if err != nil {
		return x, fmt.Errorf("%s: the file cannot be read: %w", file, document.UnwrapPathError(err))
	}
	defer f.Close()
	again, err := lab.ReplayHosts(c, f)
	if err != nil {
		return x, fmt.Errorf("%s: %w", file, err)
	}
	x = results.Replay{Switch: lab.CaptureHosts, In: again.In, Out: again.Out, Cut: again.Cut}
	if again.First != nil {
		x.Difference = again.First.String()
	}
	return x, nil
}
