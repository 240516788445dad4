package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// The second last line of a run's file has the SHA-256 of all lines before it, so that
//
//	head -n -2 runs/ID.json | sha256sum
//
// computes the same digest.
const (
	digestKey    = `  "sha256": "`
	digestLength = len(digestKey) + 2*sha256.Size + len("\"\n}\n")
)

// DamagedError reports why a file is not the unchanged result of a run.
type DamagedError struct{ Why string }

// Error returns the reason.
func (e DamagedError) Error() string { return e.Why }

// appendDigest adds the digest to a JSON document with each key on its own line, as its last key. It may overwrite the
// end of data.
func appendDigest(data []byte) []byte {
	body := append(bytes.TrimSuffix(data, []byte("\n}\n")), ",\n"...)
	return fmt.Appendf(body, "%s%x\"\n}\n", digestKey, sha256.Sum256(body))
}

// storedDigest returns the digest, in hexadecimal, at the end of a document that has one.
func storedDigest(data []byte) string {
	return string(data[len(data)-digestLength+len(digestKey):][:2*sha256.Size])
}

// checkDigest returns a DamagedError if a file does not end with the digest of its content.
func checkDigest(data []byte) error {
	at := len(data) - digestLength
	if at < 0 || !bytes.HasPrefix(data[at:], []byte(digestKey)) || !bytes.HasSuffix(data, []byte("\"\n}\n")) {
		return DamagedError{"the file is damaged: its digest (sha256) at the end is missing"}
	}
	want := data[at+len(digestKey):][:2*sha256.Size]
	if got := sha256.Sum256(data[:at]); hex.EncodeToString(got[:]) != string(want) {
		return DamagedError{"the file is damaged: its content does not match its digest (sha256)"}
	}
	return nil
}
