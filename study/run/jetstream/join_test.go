package jetstream

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit"
)

// TestReadJoin checks that an error in a join file has its place, and does not show the secret.
func TestReadJoin(t *testing.T) {
	const secret = "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4"
	good := `{"address": "nats://10.0.0.1:4222", "key": "` + secret + `", "coordinator": "` + publicKey(secret) + `"}`
	dir := t.TempDir()
	t.Chdir(dir)
	var b strings.Builder
	for _, x := range []struct{ name, text string }{
		{"good", good}, {"empty", ""}, {"blank", "\n\n"}, {"list", "[]"}, {"word", "nothing"}, {"cut", good[:len(good)-1]},
		{"cut in a string", good[:len(good)-6]}, {"comma", strings.Replace(good, `, "key"`, ` "key"`, 1)},
		{"unknown key", strings.Replace(good, `"key"`, "\n  \"kay\"", 1)},
		{"twice", strings.Replace(good, `, "key"`, ",\n \"address\": \"nats://x\",\"key\"", 1)},
		{"number", strings.Replace(good, `"`+secret+`"`, "\n7", 1)},
		{"object", strings.Replace(good, `"`+secret+`"`, `{"x": 1}`, 1)},
		{"more", good + "\n" + good}, {"no address", `{"key": "` + secret + `"}`}, {"nothing in it", "{}"},
		{"no URL", strings.Replace(good, "nats://10.0.0.1:4222", "10.0.0.1:4222", 1)},
		{"http", strings.Replace(good, "nats://", "http://", 1)},
		{"second is none", strings.Replace(good, ":4222", ":4222,::", 1)},
		{"password in what is no URL", `{"address": "nats://me:` + secret + ` x@h:4"}`},
		{"damaged key", strings.Replace(good, "UAIB", "UAIC", 1)},
		{"another version's", `{"address": "nats://10.0.0.1:4222", "key": "` + secret + `"}`},
		{"no public key", strings.Replace(good, publicKey(secret), secret, 1)},
		{"no certificate", strings.Replace(good, `"key"`, `"certificate": "PEM", "key"`, 1)},
		{"no credentials", strings.Replace(good, `"key"`, `"credentials": "nowhere.creds", "key"`, 1)},
	} {
		if err := os.WriteFile("join.json", []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := ReadJoin("join.json")
		b.WriteString(x.name + "\n")
		if err == nil {
			b.WriteString("  " + j.formatAddress() + "\n")
			continue
		}
		b.WriteString("  " + err.Error() + "\n")
		if strings.Contains(err.Error(), secret[4:]) || !errors.As(err, &document.InputErrors{}) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	os.Chmod("join.json", 0o640)
	_, err := ReadJoin("join.json")
	b.WriteString("others can read it\n  " + err.Error() + "\n")
	_, err = ReadJoin("nowhere.json")
	b.WriteString("nowhere\n  " + err.Error() + "\n")
	t.Chdir(testDir)
	testkit.Golden(t, "join.txt", b.String())
}

// testDir is the folder in which the tests start.
var testDir, _ = os.Getwd()

// FuzzReadJoin checks that a join file is read back as it was written, with permissions for its owner only. No file
// makes the reader panic, and an error has a place in the file.
func FuzzReadJoin(f *testing.F) {
	f.Add([]byte(`{"address": "nats://10.0.0.1:4222"}`))
	f.Add([]byte(`{"address": "tls://a,nats://b:1", "certificate": "x"`))
	f.Add([]byte("{\"key\":\n\"SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4\"}"))
	f.Add([]byte("[{}]\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "credentials") {
			return // it names a file of this machine
		}
		j, bad := parseJoin(data)
		if bad != nil {
			line, column := findPosition(data, bad.offset)
			if lines := strings.Count(string(data), "\n") + 1; bad.offset < 0 || bad.offset > int64(len(data)) || line > lines ||
				column < 1 || bad.msg == "" {
				t.Errorf("%d, %d:%d: %s", bad.offset, line, column, bad.msg)
			}
			return
		}
		var std Join
		if err := json.Unmarshal(data, &std); err != nil || std != *j {
			t.Fatalf("%v, %v", err, std)
		}
		name := filepath.Join(t.TempDir(), "join.json")
		if err := j.write(name); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatal(info.Mode(), err)
		}
		if again, err := ReadJoin(name); err != nil || *again != *j {
			t.Errorf("%v, %v", again, err)
		}
	})
}
