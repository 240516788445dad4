// Package document reads strict YAML: maps, lists and plain values, each with its position in the file. It rejects
// what hides the origin of a value. It collects all errors and returns them together: file, line, column, what is
// allowed, and the word that was probably meant. It does not depend on the kind of file; its caller names the keys.
package document
