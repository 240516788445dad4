// Package document reads strict YAML: maps, lists and plain values, each with its place in the file, and
// nothing that hides where a value comes from. It collects all errors and returns them together: file,
// line, column, what is allowed, the word that was probably meant. It does not depend on the kind of file;
// its caller names the keys.
package document
