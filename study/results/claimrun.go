package results

import (
	"os"

	"weir/internal/atomicfile"
)

// HasRun reports whether a results folder has the file of the run with that ID.
func HasRun(dir, id string) bool {
	_, err := os.Stat(RunFile(dir, id))
	return err == nil
}

// RunClaim is the right to write the file of a run, which one process has at a time. Executions, tasks of a cluster and
// merging all put runs into a folder by it.
type RunClaim struct {
	name string
	file *atomicfile.File // nil: a write has failed at its end, and the claim with it
}

// ClaimRun claims the file of the run with that ID in a results folder. The error is atomicfile.ErrTaken while another
// process has it.
func ClaimRun(dir, id string) (*RunClaim, error) {
	c := &RunClaim{name: RunFile(dir, id)}
	return c, c.claim()
}

func (c *RunClaim) claim() (err error) {
	if c.file, err = atomicfile.Claim(c.name); err == atomicfile.ErrTaken {
		return err
	}
	return Unwritten(c.name, err)
}

// Keep writes the file and ends the claim. After an error it can be called again.
func (c *RunClaim) Keep(data []byte) error {
	if c.file == nil {
		if err := c.claim(); err != nil {
			return err
		}
	}
	_, err := c.file.WriteAt(data, 0)
	if err == nil {
		if err = c.file.Commit(); err != nil {
			c.file = nil
		}
	}
	return Unwritten(c.name, err)
}

// Discard ends the claim, unless Keep has written the file. A nil claim has no effect.
func (c *RunClaim) Discard() {
	if c != nil {
		c.file.Discard()
	}
}
