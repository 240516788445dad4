package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
)

// judgesRealTime returns the functions of test files, each as "folder name", that call realtime.Test: themselves, or
// through a function or method of their package's tests. Functions and methods of the same name are not distinguished.
func judgesRealTime(root string, files []string) (map[string]bool, error) {
	callers := map[string][]string{} // by folder and name of a function
	var queue []string
	err := visitTestFiles(root, files, func(name string, src []byte) error {
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(name) + " "
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			caller := folder + f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch called := call.Fun.(type) {
				case *ast.Ident:
					callers[folder+called.Name] = append(callers[folder+called.Name], caller)
				case *ast.SelectorExpr:
					if x, ok := called.X.(*ast.Ident); ok && x.Name == "realtime" && called.Sel.Name == "Test" {
						queue = append(queue, caller)
						break
					}
					callers[folder+called.Sel.Name] = append(callers[folder+called.Sel.Name], caller)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	judges := map[string]bool{}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if !judges[f] {
			judges[f] = true
			queue = append(queue, callers[f]...)
		}
	}
	return judges, nil
}
