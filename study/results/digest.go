package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// The last line of a run's file but the bracket is the SHA-256 of all lines before it, so that
//
//	head -n -2 runs/ID.json | sha256sum
//
// gives it too.
const (
	sealKey    = `  "sha256": "`
	sealLength = len(sealKey) + 2*sha256.Size + len("\"\n}\n")
)

// DamagedError is why a file cannot be taken as what a run has left.
type DamagedError struct{ Why string }

func (e DamagedError) Error() string { return e.Why }

// seal adds the digest to a document whose keys have lines of their own.
func seal(data []byte) []byte {
	body := append(bytes.TrimSuffix(data, []byte("\n}\n")), ",\n"...)
	return fmt.Appendf(body, "%s%x\"\n}\n", sealKey, sha256.Sum256(body))
}

// sealOf is the digest that a document ends with.
func sealOf(data []byte) string {
	return string(data[len(data)-sealLength+len(sealKey):][:2*sha256.Size])
}

// unsealed is an error if a file does not end with the digest of what it has.
func unsealed(data []byte) error {
	at := len(data) - sealLength
	if at < 0 || !bytes.HasPrefix(data[at:], []byte(sealKey)) || !bytes.HasSuffix(data, []byte("\"\n}\n")) {
		return DamagedError{"it is damaged: it does not end with its digest (sha256)"}
	}
	want := data[at+len(sealKey):][:2*sha256.Size]
	if got := sha256.Sum256(data[:at]); hex.EncodeToString(got[:]) != string(want) {
		return DamagedError{"it is damaged: its content does not have its digest (sha256)"}
	}
	return nil
}
