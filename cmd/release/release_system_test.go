//go:build system

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/internal/testkit"
)

// self returns this test's program, which contains third-party modules as weir does.
func self(t *testing.T) (*source, string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &source{dir: "../..", commit: strings.Repeat("0123456789", 4), version: "v1.2.0", time: day}, binary
}

// TestPublish_ChecksumsPassSha256sum checks that sha256sum accepts the checksums, and rejects a changed file.
func TestPublish_ChecksumsPassSha256sum(t *testing.T) {
	testkit.RequireProgram(t, "sha256sum", "coreutils")
	dir := t.TempDir()
	files := map[string][]byte{"b.tar.gz": []byte("b"), "a.tar.gz": []byte("a")}
	written, err := publish(dir, files)
	if err != nil || len(written) != 3 {
		t.Fatalf("%v, %v", written, err)
	}
	check := func() error {
		c := exec.Command("sha256sum", "-c", "SHA256SUMS")
		c.Dir = dir
		return c.Run()
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.tar.gz"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("a changed file passes")
	}
}

// TestListComponents_IsValidCycloneDX checks that the list of components conforms to CycloneDX's schema, is the
// same each time, and has each module with its licence.
func TestListComponents_IsValidCycloneDX(t *testing.T) {
	s, binary := self(t)
	list, err := s.listComponents("linux/amd64", binary)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.listComponents("linux/amd64", binary); err != nil || !bytes.Equal(list, again) {
		t.Errorf("another list: %v", err)
	}
	schema := cycloneDX(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"specVersion": "1.6"`, `"timestamp": "2026-11-26T12:00:00Z"`,
		`"purl": "pkg:golang/weir@v1.2.0"`, `"purl": "pkg:golang/github.com/alecthomas/kong@v`,
		`"purl": "pkg:golang/std@1.`, `"name": "commit"`} {
		if !bytes.Contains(list, []byte(want)) {
			t.Errorf("it has no %s:\n%s", want, list)
		}
	}
	for module, id := range map[string]string{"github.com/alecthomas/kong": "MIT", "std": "BSD-3-Clause"} {
		_, at, _ := bytes.Cut(list, []byte(`"name": "`+module+`"`))
		if at, _, _ = bytes.Cut(at, []byte(`"name": `)); !bytes.Contains(at, []byte(`"id": "`+id+`"`)) {
			t.Errorf("%s has not the licence %s: %s", module, id, at)
		}
	}
	var read map[string]any
	if err := json.Unmarshal(list, &read); err != nil {
		t.Fatal(err)
	}
	read["specVersion"], read["components"] = "1.6", []any{map[string]any{"name": "x"}} // a component without a type
	if schema.Validate(read) == nil {
		t.Error("the schema takes a component without a type: this test sees nothing")
	}
}

// TestFindLicences_IdentifiesEachModule checks that every module in Weir has a licence with an SPDX identifier. One
// module is an exception: its file leaves the choice between two licences whose texts are elsewhere.
func TestFindLicences_IdentifiesEachModule(t *testing.T) {
	const choice = "github.com/golang/freetype"
	out, err := runGo("../..", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	spdx, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema", "spdx.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	const format = "{{with .Module}}{{.Path}} {{.Dir}}{{end}}"
	if out, err = runGo("../..", "list", "-deps", "-f", format, "./cmd/weir"); err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
	if len(modules) < 20 {
		t.Fatalf("only %q", modules)
	}
	for _, line := range modules {
		module, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if folder == "" {
			continue
		}
		t.Run(module, func(t *testing.T) {
			ids, err := findLicences(folder)
			if err != nil || (len(ids) == 0) != (module == choice) {
				t.Errorf("%v, %v", ids, err)
			}
			for _, id := range ids {
				if !bytes.Contains(spdx, []byte(`"`+id+`"`)) {
					t.Errorf("SPDX does not know %s", id)
				}
			}
		})
	}
}

// cycloneDX returns the schema in the library's module.
func cycloneDX(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := runGo("../..", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "schema")
	c := jsonschema.NewCompiler()
	c.UseLoader(schemas(dir))
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// schemas is a folder that finds schemas by the last part of their address.
type schemas string

// Load reads a schema. The schema of signatures has another extension in the folder.
func (dir schemas) Load(url string) (any, error) {
	name := path.Base(url)
	f, err := os.Open(filepath.Join(string(dir), name))
	if err != nil {
		f, err = os.Open(filepath.Join(string(dir), strings.Replace(name, ".schema.json", ".schemax.json", 1)))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return jsonschema.UnmarshalJSON(f)
}

// TestCollectLicences_IncludesModulesAndNotices checks that the notices have the licence of each module of the
// program.
func TestCollectLicences_IncludesModulesAndNotices(t *testing.T) {
	_, binary := self(t)
	text, err := collectLicences("../..", binary)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nstd 1.", "\ngithub.com/alecthomas/kong v", "\ngithub.com/CycloneDX/cyclonedx-go v",
		": NOTICE\n", ": LICENSE\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("there is no %q", want)
		}
	}
}

// TestRefusedCommit checks that a commit that git does not have is refused before a folder is made.
func TestRefusedCommit(t *testing.T) {
	testkit.RequireProgram(t, "git", "git")
	out := filepath.Join(t.TempDir(), "new")
	for _, commit := range []string{"no-such-commit", "--all"} { // the latter is an option
		t.Run(commit, func(t *testing.T) {
			o := options{Commit: commit, Out: out}
			if _, err := o.makeRelease("../.."); err == nil || !strings.Contains(err.Error(), "git rev-parse") {
				t.Errorf("%v, want an error of git rev-parse", err)
			}
		})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made")
	}
}
