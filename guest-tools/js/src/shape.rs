//! Which kind of program a text is, and where the expression is that gives its value.

use boa_engine::ast::declaration::ExportDeclaration;
use boa_engine::ast::expression::access::PropertyAccess;
use boa_engine::ast::operations::{ContainsSymbol, contains};
use boa_engine::ast::scope::Scope;
use boa_engine::ast::{Expression, Module, ModuleItem, Position, Spanned, Statement, StatementListItem};
use boa_engine::interner::Interner;
use boa_engine::parser::{Parser, Source};

/// How the engine has to take a program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As a script, whose value is that of its last expression.
    Script,
    /// As a module, for it imports, or awaits outside of functions. Its value is its default export.
    Module(String),
}

impl Shape {
    /// The shape of a program, which may be none: then it is a script with an error.
    pub(crate) fn of(code: &str) -> Self {
        // `await (x)` is a script too, in which `await` is a function: the words decide which reading is tried first.
        if !["await", "import", "export"].iter().any(|word| code.contains(word)) {
            return Self::Script;
        }
        match module(code) {
            Some(module) if is_only_a_module(code, &module) => Self::Module(with_value(code, &module)),
            // Where neither reading holds, the module's error is the one about what was meant.
            None if !is_script(code) => Self::Module(code.to_owned()),
            _ => Self::Script,
        }
    }
}

fn module(code: &str) -> Option<Module> {
    let scope = Scope::new_global();
    Parser::new(Source::from_bytes(code)).parse_module(&scope, &mut Interner::default()).ok()
}

/// Why a text is no program, if it is none.
pub(crate) fn syntax_error(code: &str) -> Option<String> {
    let scope = Scope::new_global();
    let script = Parser::new(Source::from_bytes(code)).parse_script(&scope, &mut Interner::default());
    script.err().map(|error| error.to_string())
}

fn is_script(code: &str) -> bool {
    let scope = Scope::new_global();
    Parser::new(Source::from_bytes(code)).parse_script(&scope, &mut Interner::default()).is_ok()
}

fn is_only_a_module(code: &str, module: &Module) -> bool {
    let links = module.items().items().iter().any(|item| !matches!(item, ModuleItem::StatementListItem(_)));
    links || contains(module, ContainsSymbol::AwaitExpression) || !is_script(code)
}

/// The program with its last expression as the default export, on the lines where everything was.
fn with_value(code: &str, module: &Module) -> String {
    let items = module.items().items();
    let exports = items.iter().any(|item| {
        matches!(item, ModuleItem::ExportDeclaration(export)
            if matches!(**export, ExportDeclaration::DefaultAssignmentExpression(_)))
    });
    let Some(ModuleItem::StatementListItem(StatementListItem::Statement(last))) = items.last() else {
        return code.to_owned();
    };
    let Statement::Expression(expression) = &**last else { return code.to_owned() };
    let Some(at) = offset(code, start(expression)).filter(|_| !exports) else {
        return code.to_owned();
    };
    let (before, after) = code.split_at(at);
    let valued = format!("{before}export default {after}");
    // What cannot be exported as it stands (`a, b`) has no value, rather than an error.
    if self::module(&valued).is_some() { valued } else { code.to_owned() }
}

/// Where an expression begins: the engine's span of a call or an access may begin behind what is called or accessed.
fn start(expression: &Expression) -> Position {
    let first = match expression {
        Expression::Call(call) => start(call.function()),
        Expression::PropertyAccess(PropertyAccess::Simple(access)) => start(access.target()),
        Expression::PropertyAccess(PropertyAccess::Private(access)) => start(access.target()),
        Expression::Optional(optional) => start(optional.target()),
        Expression::TaggedTemplate(template) => start(template.tag()),
        Expression::Binary(binary) => start(binary.lhs()),
        Expression::Conditional(conditional) => start(conditional.condition()),
        Expression::Assign(assign) => assign.lhs().span().start(),
        other => other.span().start(),
    };
    first.min(expression.span().start())
}

/// Where in the text a position is.
fn offset(code: &str, position: Position) -> Option<usize> {
    let line = usize::try_from(position.line_number()).ok()?.checked_sub(1)?;
    let column = usize::try_from(position.column_number()).ok()?.checked_sub(1)?;
    let start = match line {
        0 => 0,
        _ => code.match_indices('\n').nth(line - 1)?.0 + 1,
    };
    let rest = code.get(start..)?;
    let within = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
    Some(start + within)
}
