// Package webserver has the server of all commands that listen for HTTP, with limits on time and connections. Package
// bind checks the addresses.
package webserver
