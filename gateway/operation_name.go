package gateway

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// namingExecutor is an executor whose errors list the operations of a document if operationName names none of them.
type namingExecutor struct{ *executor.Executor }

func (e namingExecutor) CreateOperationContext(ctx context.Context, params *graphql.RawParams) (
	*graphql.OperationContext, gqlerror.List) {
	operation, errs := e.Executor.CreateOperationContext(ctx, params)
	if len(errs) > 0 && operation.Doc != nil && operation.Operation == nil {
		errs = gqlerror.List{errorOf(missingOperation(operation.Doc.Operations, params.OperationName),
			errcode.ValidationFailed)}
	}
	return operation, errs
}

// maxNames bounds how many operations an error lists.
const maxNames = 10

func missingOperation(all ast.OperationList, name string) string {
	var names []string
	for _, one := range all[:min(len(all), maxNames)] {
		names = append(names, one.Name)
	}
	listed := strings.Join(names, ", ")
	switch {
	case len(all) > maxNames:
		listed += ", …"
	case listed == "":
		listed = "one without a name"
	}
	if name == "" {
		return "the document has several operations. Choose one with operationName: " + listed
	}
	return "operation " + name + " not found. The document has: " + listed
}
