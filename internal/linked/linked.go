// Package linked holds parts of a program that an import links in, as an import adds a driver to database/sql. Each
// part is a variable of the package that uses it. A package below weir/app links the part when it is imported:
//
//	var Drawing = linked.New[Drawer]("the drawing of figures", "weir/app/figure") // in package figure
//	func init() { figure.Drawing.Link(draw.Drawer{}) }                            // in package weir/app/figure
package linked

import "fmt"

// Part is the place of a T that another package provides.
type Part[T any] struct {
	name, path string
	value      T
	linked     bool
}

// New returns the empty place of a part. Its name and the path of the package that links it are for the error of Get.
func New[T any](name, path string) *Part[T] { return &Part[T]{name: name, path: path} }

// Link puts a value in its place. It is for functions init: it panics if there is a value already.
func (p *Part[T]) Link(value T) {
	if p.linked {
		panic(p.name + " is linked twice")
	}
	p.value, p.linked = value, true
}

// Linked reports whether the part has a value.
func (p *Part[T]) Linked() bool { return p.linked }

// Get returns the part's value, or a *MissingError.
func (p *Part[T]) Get() (T, error) {
	if !p.linked {
		return p.value, &MissingError{Name: p.name, Path: p.path}
	}
	return p.value, nil
}

// MissingError is the error of a part that is not linked into the program.
type MissingError struct {
	Name string // of the part
	Path string // of the package that links it in
}

// Error names the package to import.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not part of this program; to add it, import _ %q in package main", e.Name, e.Path)
}
