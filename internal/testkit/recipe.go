package testkit

import (
	"os"
	"strings"
	"testing"
)

// ReadRecipe returns the script between the comments "recipe: begin" and "recipe: end" of a document, without its
// indentation.
func ReadRecipe(t testing.TB, file string) string {
	t.Helper()
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "<!-- recipe: begin -->\n")
	shown, _, ok := strings.Cut(rest, "<!-- recipe: end -->")
	if !ok {
		t.Fatalf("%s has no recipe", file)
	}
	var lines []string
	for _, l := range strings.Split(shown, "\n") {
		lines = append(lines, strings.TrimPrefix(l, "    "))
	}
	return strings.Join(lines, "\n")
}

// NamespaceArgs returns the arguments of a command that runs a script by sh -e in a network namespace with a loopback,
// and with a folder for the names of further namespaces.
func NamespaceArgs(script string) []string {
	return []string{"unshare", "--net", "--mount", "sh", "-c",
		"mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up && exec sh -e -c \"$1\"", "sh", script}
}
