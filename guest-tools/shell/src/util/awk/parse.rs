//! From words to a tree.

use std::collections::HashMap;
use std::rc::Rc;

use super::lex::{Lexer, Token};
use super::tree::{
    BUILTINS, Block, Builtin, Comparison, Expression, From, Function, Pattern, Program, Rule, SPECIAL,
    Statement, Target, Variable,
};
use crate::regex::{Flavour, Regex};

/// Deeper nesting would exhaust the stack.
const DEEPEST: u32 = 60;

type Parsed<T> = Result<T, String>;

pub fn parse(text: &str) -> Parsed<Program> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        program: Program { globals: SPECIAL.map(str::to_owned).to_vec(), ..Program::default() },
        names: SPECIAL.iter().enumerate().map(|(index, name)| ((*name).to_owned(), index)).collect(),
        functions: HashMap::new(),
        called: Vec::new(),
        locals: HashMap::new(),
        depth: 0,
        no_in: false,
        no_greater: false,
    };
    parser.program()?;
    for (name, index) in &parser.called {
        if parser.program.functions.get(*index).is_none_or(|function| function.name.is_empty()) {
            return Err(format!("function `{name}' not defined"));
        }
    }
    Ok(parser.program)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    program: Program,
    names: HashMap<String, usize>,
    functions: HashMap<String, usize>,
    called: Vec<(String, usize)>,
    locals: HashMap<String, usize>,
    depth: u32,
    /// Where `in` belongs to `for`.
    no_in: bool,
    /// Where `>` belongs to `print`.
    no_greater: bool,
}

impl Parser<'_> {
    fn error<T>(&self) -> Parsed<T> {
        let shown = match &self.token {
            Token::Newline => "newline".to_owned(),
            Token::End => "end of program".to_owned(),
            Token::Sign(sign) | Token::Word(sign) => (*sign).to_owned(),
            Token::Name(name, _) => name.clone(),
            Token::Number(number) => number.to_string(),
            Token::Text(text) | Token::Regex(text) => text.clone(),
        };
        Err(format!("cmd. line:{}: syntax error at or near {shown}", self.lexer.line))
    }

    fn advance(&mut self) -> Parsed<Token> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(found) | Token::Word(found) if *found == sign)
    }

    fn take(&mut self, sign: &str) -> Parsed<bool> {
        let found = self.is(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign)? { Ok(()) } else { self.error() }
    }

    fn newlines(&mut self) -> Parsed<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    fn separators(&mut self) -> Parsed<()> {
        while self.token == Token::Newline || self.is(";") {
            self.advance()?;
        }
        Ok(())
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(format!("cmd. line:{}: nested too deeply", self.lexer.line));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn program(&mut self) -> Parsed<()> {
        self.separators()?;
        while self.token != Token::End {
            if self.take("BEGIN")? {
                let block = self.block()?;
                self.program.begin.push(block);
            } else if self.take("END")? {
                let block = self.block()?;
                self.program.end.push(block);
            } else if self.take("function")? {
                self.function()?;
            } else {
                self.rule()?;
            }
            self.separators()?;
        }
        Ok(())
    }

    fn rule(&mut self) -> Parsed<()> {
        let pattern = if self.is("{") {
            Pattern::Always
        } else {
            let first = self.expression()?;
            if self.take(",")? {
                self.newlines()?;
                Pattern::Range(first, self.expression()?)
            } else {
                Pattern::If(first)
            }
        };
        let body = if self.is("{") { Some(self.block()?) } else { None };
        self.program.rules.push(Rule { pattern, body });
        Ok(())
    }

    fn function(&mut self) -> Parsed<()> {
        let Token::Name(name, _) = self.advance()? else { return self.error() };
        self.expect("(")?;
        let mut locals = HashMap::new();
        while !self.is(")") {
            let Token::Name(parameter, _) = self.advance()? else { return self.error() };
            locals.insert(parameter, locals.len());
            self.newlines()?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        self.expect(")")?;
        self.newlines()?;
        let parameters = locals.len();
        self.locals = locals;
        let body = self.block()?;
        self.locals = HashMap::new();
        let index = self.function_index(&name);
        if let Some(function) = self.program.functions.get_mut(index) {
            *function = Function { name, parameters, body };
        }
        Ok(())
    }

    fn function_index(&mut self, name: &str) -> usize {
        if let Some(index) = self.functions.get(name) {
            return *index;
        }
        let index = self.program.functions.len();
        self.functions.insert(name.to_owned(), index);
        self.program.functions.push(Function { name: String::new(), parameters: 0, body: Vec::new() });
        index
    }

    fn variable(&mut self, name: &str) -> Variable {
        if let Some(index) = self.locals.get(name) {
            return Variable::Local(*index);
        }
        if let Some(index) = self.names.get(name) {
            return Variable::Global(*index);
        }
        let index = self.program.globals.len();
        self.program.globals.push(name.to_owned());
        self.names.insert(name.to_owned(), index);
        Variable::Global(index)
    }

    fn block(&mut self) -> Parsed<Block> {
        self.newlines()?;
        self.expect("{")?;
        let mut statements = Block::new();
        self.separators()?;
        while !self.is("}") {
            statements.push(self.deeper(Self::statement)?);
            self.separators()?;
        }
        self.advance()?;
        Ok(statements)
    }

    fn body(&mut self) -> Parsed<Block> {
        self.newlines()?;
        if self.take(";")? {
            return Ok(Block::new());
        }
        if self.is("{") {
            return self.block();
        }
        Ok(vec![self.deeper(Self::statement)?])
    }

    /// After a simple statement.
    fn terminator(&mut self) -> Parsed<()> {
        if self.token == Token::Newline || self.is(";") {
            self.advance()?;
            return Ok(());
        }
        if self.is("}") || self.token == Token::End { Ok(()) } else { self.error() }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        if self.is("{") {
            return Ok(Statement::Group(self.block()?));
        }
        if self.take("if")? {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            let yes = self.body()?;
            self.separators_before_else()?;
            let no = if self.take("else")? { self.body()? } else { Block::new() };
            return Ok(Statement::If(condition, yes, no));
        }
        if self.take("while")? {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            return Ok(Statement::While(condition, self.body()?));
        }
        if self.take("do")? {
            let body = self.body()?;
            self.separators()?;
            self.expect("while")?;
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            self.terminator()?;
            return Ok(Statement::Do(body, condition));
        }
        if self.take("for")? {
            return self.for_loop();
        }
        let statement = self.simple()?;
        self.terminator()?;
        Ok(statement)
    }

    /// `else` may stand behind line ends and one semicolon.
    fn separators_before_else(&mut self) -> Parsed<()> {
        // A statement that ends in a block leaves line ends for its own list, which skips them just as well.
        self.separators()
    }

    fn for_loop(&mut self) -> Parsed<Statement> {
        self.expect("(")?;
        let first = if self.is(";") {
            None
        } else {
            self.no_in = true;
            let first = self.simple();
            self.no_in = false;
            let first = first?;
            if self.is("in") {
                let Statement::Expression(Expression::Variable(variable)) = first else {
                    return self.error();
                };
                self.advance()?;
                let Token::Name(name, _) = self.advance()? else { return self.error() };
                let array = self.variable(&name);
                self.expect(")")?;
                return Ok(Statement::ForIn(variable, array, self.body()?));
            }
            Some(Box::new(first))
        };
        self.expect(";")?;
        self.newlines()?;
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        self.newlines()?;
        let step = if self.is(")") { None } else { Some(Box::new(self.simple()?)) };
        self.expect(")")?;
        Ok(Statement::For { first, condition, step, body: self.body()? })
    }

    fn simple(&mut self) -> Parsed<Statement> {
        let Token::Word(word) = self.token else {
            return Ok(Statement::Expression(self.expression()?));
        };
        match word {
            "getline" => return Ok(Statement::Expression(self.expression()?)),
            "print" | "printf" => {
                self.advance()?;
                return self.print(word == "printf");
            }
            _ => {}
        }
        self.advance()?;
        let ends = self.token == Token::Newline || self.token == Token::End || self.is(";") || self.is("}");
        Ok(match word {
            "break" => Statement::Break,
            "continue" => Statement::Continue,
            "next" => Statement::Next,
            "nextfile" => Statement::NextFile,
            "exit" => Statement::Exit(if ends { None } else { Some(self.expression()?) }),
            "return" => Statement::Return(if ends { None } else { Some(self.expression()?) }),
            "delete" => {
                let Token::Name(name, _) = self.advance()? else { return self.error() };
                let variable = self.variable(&name);
                let index = if self.take("[")? {
                    let index = self.list("]")?;
                    self.expect("]")?;
                    Some(index)
                } else {
                    None
                };
                Statement::Delete(variable, index)
            }
            _ => return self.error(),
        })
    }

    fn print(&mut self, formatted: bool) -> Parsed<Statement> {
        let mut items = Vec::new();
        let ends = |parser: &Self| {
            parser.token == Token::Newline
                || parser.token == Token::End
                || [";", "}", ">", ">>", "|"].iter().any(|sign| parser.is(sign))
        };
        if !ends(self) {
            self.no_greater = true;
            let result = self.print_items();
            self.no_greater = false;
            items = result?;
        }
        let target = if self.take(">")? {
            Some(Target::File)
        } else if self.take(">>")? {
            Some(Target::Append)
        } else if self.take("|")? {
            Some(Target::Command)
        } else {
            None
        };
        let target = match target {
            Some(kind) => {
                self.no_greater = true;
                let name = self.concatenation();
                self.no_greater = false;
                Some((kind, name?))
            }
            None => None,
        };
        if formatted && items.is_empty() {
            return self.error();
        }
        Ok(if formatted { Statement::Printf { items, target } } else { Statement::Print { items, target } })
    }

    fn print_items(&mut self) -> Parsed<Vec<Expression>> {
        let first = self.expression()?;
        // `print (a, b) > "x"`: the list in parentheses is the list of items.
        if let Expression::In(items, Variable::Local(usize::MAX)) = first {
            return Ok(items);
        }
        let mut items = vec![first];
        while self.take(",")? {
            self.newlines()?;
            items.push(self.expression()?);
        }
        Ok(items)
    }

    fn list(&mut self, end: &str) -> Parsed<Vec<Expression>> {
        let mut items = Vec::new();
        self.newlines()?;
        while !self.is(end) {
            items.push(self.expression()?);
            self.newlines()?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        Ok(items)
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(Self::ternary)
    }

    fn ternary(&mut self) -> Parsed<Expression> {
        let condition = self.or()?;
        if self.take("?")? {
            self.newlines()?;
            let yes = self.expression()?;
            self.newlines()?;
            self.expect(":")?;
            self.newlines()?;
            let no = self.expression()?;
            return Ok(Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no)));
        }
        let operator = ["=", "+=", "-=", "*=", "/=", "%=", "^="].into_iter().find(|sign| self.is(sign));
        let Some(operator) = operator else { return Ok(condition) };
        // `!x = y` and `a + b = c`: what is assigned to is the rightmost part.
        self.assign(condition, operator)
    }

    fn assign(&mut self, target: Expression, operator: &str) -> Parsed<Expression> {
        match target {
            Expression::Variable(_) | Expression::Field(_) | Expression::Element(..) => {
                self.advance()?;
                self.newlines()?;
                let value = Box::new(self.expression()?);
                Ok(match operator.strip_suffix('=').and_then(|sign| sign.chars().next()) {
                    None => Expression::Assign(Box::new(target), value),
                    Some(sign) => Expression::Update(Box::new(target), sign, value),
                })
            }
            Expression::Not(inner) => Ok(Expression::Not(Box::new(self.assign(*inner, operator)?))),
            Expression::And(left, right) => {
                Ok(Expression::And(left, Box::new(self.assign(*right, operator)?)))
            }
            Expression::Or(left, right) => Ok(Expression::Or(left, Box::new(self.assign(*right, operator)?))),
            Expression::Compare(left, comparison, right) => {
                Ok(Expression::Compare(left, comparison, Box::new(self.assign(*right, operator)?)))
            }
            Expression::Concat(left, right) => {
                Ok(Expression::Concat(left, Box::new(self.assign(*right, operator)?)))
            }
            _ => self.error(),
        }
    }

    fn or(&mut self) -> Parsed<Expression> {
        let mut left = self.and()?;
        while self.take("||")? {
            self.newlines()?;
            left = Expression::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed<Expression> {
        let mut left = self.membership()?;
        while self.take("&&")? {
            self.newlines()?;
            left = Expression::And(Box::new(left), Box::new(self.membership()?));
        }
        Ok(left)
    }

    fn membership(&mut self) -> Parsed<Expression> {
        let mut left = self.matching()?;
        while !self.no_in && self.is("in") {
            self.advance()?;
            let Token::Name(name, _) = self.advance()? else { return self.error() };
            let array = self.variable(&name);
            let index = match left {
                Expression::In(items, Variable::Local(usize::MAX)) => items,
                other => vec![other],
            };
            left = Expression::In(index, array);
        }
        Ok(left)
    }

    fn matching(&mut self) -> Parsed<Expression> {
        let mut left = self.comparison()?;
        loop {
            let negated = self.is("!~");
            if !negated && !self.is("~") {
                return Ok(left);
            }
            self.advance()?;
            let pattern = Box::new(self.comparison()?);
            left = Expression::Match { text: Box::new(left), pattern, negated };
        }
    }

    fn comparison(&mut self) -> Parsed<Expression> {
        let left = self.concatenation()?;
        let signs = [
            ("<=", Comparison::LessEqual),
            ("<", Comparison::Less),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            (">=", Comparison::GreaterEqual),
            (">", Comparison::Greater),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.is(sign) && !(self.no_greater && *sign == ">"));
        let Some((_, comparison)) = found else { return self.piped(left) };
        self.advance()?;
        let right = self.concatenation()?;
        Ok(Expression::Compare(Box::new(left), comparison, Box::new(right)))
    }

    /// `command | getline`
    fn piped(&mut self, left: Expression) -> Parsed<Expression> {
        let mut left = left;
        while self.is("|") && !self.no_greater {
            self.advance()?;
            self.expect("getline")?;
            let target = self.getline_target()?;
            left = Expression::Getline { from: From::Command(Box::new(left)), target };
        }
        Ok(left)
    }

    fn getline_target(&mut self) -> Parsed<Option<Box<Expression>>> {
        if self.is("$") || matches!(self.token, Token::Name(_, false)) {
            return Ok(Some(Box::new(self.primary()?)));
        }
        Ok(None)
    }

    fn begins_operand(&self) -> bool {
        match &self.token {
            Token::Number(_) | Token::Text(_) | Token::Regex(_) | Token::Name(..) => true,
            Token::Sign(sign) => matches!(*sign, "$" | "!" | "(" | "-" | "+" | "++" | "--"),
            _ => false,
        }
    }

    fn concatenation(&mut self) -> Parsed<Expression> {
        let mut left = self.additive()?;
        // A sign here would have been taken as that of an addition.
        while self.begins_operand() && !self.is("+") && !self.is("-") && !self.is("!") {
            let right = self.additive()?;
            left = Expression::Concat(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn additive(&mut self) -> Parsed<Expression> {
        let mut left = self.multiplicative()?;
        while let Some(sign) = ['+', '-'].into_iter().find(|sign| self.is(&sign.to_string())) {
            self.advance()?;
            left = Expression::Arithmetic(Box::new(left), sign, Box::new(self.multiplicative()?));
        }
        Ok(left)
    }

    fn multiplicative(&mut self) -> Parsed<Expression> {
        let mut left = self.unary()?;
        while let Some(sign) = ['*', '/', '%'].into_iter().find(|sign| self.is(&sign.to_string())) {
            self.advance()?;
            left = Expression::Arithmetic(Box::new(left), sign, Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            if parser.take("!")? {
                return Ok(Expression::Not(Box::new(parser.unary()?)));
            }
            if parser.take("-")? {
                return Ok(Expression::Negative(Box::new(parser.unary()?)));
            }
            if parser.take("+")? {
                return Ok(Expression::Positive(Box::new(parser.unary()?)));
            }
            parser.power()
        })
    }

    fn power(&mut self) -> Parsed<Expression> {
        let base = self.postfix()?;
        if self.take("^")? {
            // To the right, and with a sign of its own.
            let exponent = self.unary()?;
            return Ok(Expression::Arithmetic(Box::new(base), '^', Box::new(exponent)));
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let target = self.primary()?;
        if matches!(target, Expression::Variable(_) | Expression::Field(_) | Expression::Element(..)) {
            for (sign, step) in [("++", 1.0), ("--", -1.0)] {
                if self.take(sign)? {
                    return Ok(Expression::Step { target: Box::new(target), step, before: false });
                }
            }
        }
        Ok(target)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        match self.advance()? {
            Token::Number(number) => Ok(Expression::Number(number)),
            Token::Text(text) => Ok(Expression::Text(Rc::from(text))),
            Token::Regex(pattern) => {
                Ok(Expression::Regex(Rc::new(Regex::new(&pattern, Flavour::Awk, false)?)))
            }
            Token::Sign("$") => {
                for (sign, step) in [("++", 1.0), ("--", -1.0)] {
                    if self.take(sign)? {
                        let target = Box::new(self.primary()?);
                        return Ok(Expression::Field(Box::new(Expression::Step {
                            target,
                            step,
                            before: true,
                        })));
                    }
                }
                if self.take("-")? {
                    return Ok(Expression::Field(Box::new(Expression::Negative(Box::new(self.primary()?)))));
                }
                Ok(Expression::Field(Box::new(self.deeper(Self::primary)?)))
            }
            Token::Sign(sign @ ("++" | "--")) => {
                let target = Box::new(self.primary()?);
                if !matches!(
                    *target,
                    Expression::Variable(_) | Expression::Field(_) | Expression::Element(..)
                ) {
                    return self.error();
                }
                Ok(Expression::Step { target, step: if sign == "++" { 1.0 } else { -1.0 }, before: true })
            }
            Token::Sign("(") => self.parenthesis(),
            Token::Sign("-") => Ok(Expression::Negative(Box::new(self.unary()?))),
            Token::Sign("!") => Ok(Expression::Not(Box::new(self.unary()?))),
            Token::Word("getline") => {
                self.program.reads = true;
                let target = self.getline_target()?;
                if self.take("<")? {
                    let file = Box::new(self.postfix()?);
                    return Ok(Expression::Getline { from: From::File(file), target });
                }
                Ok(Expression::Getline { from: From::Input, target })
            }
            Token::Name(name, called) => self.name(name, called),
            other => {
                self.token = other;
                self.error()
            }
        }
    }

    fn parenthesis(&mut self) -> Parsed<Expression> {
        let (no_in, no_greater) = (std::mem::take(&mut self.no_in), std::mem::take(&mut self.no_greater));
        let items = self.list(")");
        self.no_in = no_in;
        self.no_greater = no_greater;
        let mut items = items?;
        self.expect(")")?;
        if items.len() == 1 {
            return Ok(Expression::Group(Box::new(items.remove(0))));
        }
        if items.is_empty() || !(self.is("in") || self.no_greater) {
            return self.error();
        }
        // A list: an index before `in`, or the items of `print`.
        Ok(Expression::In(items, Variable::Local(usize::MAX)))
    }

    fn name(&mut self, name: String, called: bool) -> Parsed<Expression> {
        if let Some((_, builtin)) = BUILTINS.iter().find(|(known, _)| *known == name) {
            if !called {
                return if *builtin == Builtin::Length {
                    Ok(Expression::Builtin(*builtin, Vec::new()))
                } else {
                    self.error()
                };
            }
            let arguments = self.arguments()?;
            return Ok(Expression::Builtin(*builtin, arguments));
        }
        if called && !self.locals.contains_key(&name) {
            let arguments = self.arguments()?;
            let index = self.function_index(&name);
            self.called.push((name, index));
            return Ok(Expression::Call(index, arguments));
        }
        let variable = self.variable(&name);
        if self.take("[")? {
            let no_in = std::mem::take(&mut self.no_in);
            let index = self.list("]");
            self.no_in = no_in;
            let index = index?;
            self.expect("]")?;
            return Ok(Expression::Element(variable, index));
        }
        Ok(Expression::Variable(variable))
    }

    fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        self.expect("(")?;
        let (no_in, no_greater) = (std::mem::take(&mut self.no_in), std::mem::take(&mut self.no_greater));
        let items = self.list(")");
        self.no_in = no_in;
        self.no_greater = no_greater;
        let items = items?;
        self.expect(")")?;
        Ok(items)
    }
}
